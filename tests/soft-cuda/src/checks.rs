//! Violations: things that the real driver lets pass or answers with damage -> texts in the report.

/// One thing that was done wrong, and how often the same text came up.
pub struct Violation {
    /// One of the words in `soft_cuda.h`.
    pub kind: &'static str,
    pub text: String,
    pub count: u64,
}

/// What to do with a violation besides keeping it.
#[derive(Clone, Copy, Default)]
pub struct Manner {
    /// Print it to standard error.
    pub log: bool,
    /// Print it and abort the process.
    pub strict: bool,
}

/// Different texts kept; later ones are only counted.
const KEPT: usize = 1000;

#[derive(Default)]
pub struct Violations {
    pub list: Vec<Violation>,
    pub total: u64,
    pub manner: Manner,
}

impl Violations {
    pub fn add(&mut self, kind: &'static str, text: String) {
        self.total += 1;
        if self.manner.log || self.manner.strict {
            eprintln!("soft-cuda: {kind}: {text}");
        }
        if self.manner.strict {
            std::process::abort();
        }
        if let Some(same) = self.list.iter_mut().find(|violation| violation.kind == kind && violation.text == text) {
            same.count += 1;
        } else if self.list.len() < KEPT {
            self.list.push(Violation { kind, text, count: 1 });
        }
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.total = 0;
    }
}
