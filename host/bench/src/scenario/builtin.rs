//! The scenarios of `host/scenarios`, by name.

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        /// Their names.
        pub const NAMES: [&str; 11] = [$($name),*];

        /// The text of one.
        pub fn builtin(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!("../../../scenarios/", $name, ".json"))),)*
                _ => None,
            }
        }
    };
}

scenarios!(
    "smoke",
    "default",
    "mixed-dtypes",
    "mixed-codecs",
    "small-crops",
    "aligned-scan",
    "many-arrays",
    "one-array",
    "high-latency",
    "held-batches",
    "cached",
);
