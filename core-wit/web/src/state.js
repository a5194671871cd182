// What the page is about, as text fields, and its form in the address after '#'. Fields are kept as typed.

/** Example values; each button fills in these fields. */
export const EXAMPLES = [
  { label: "clamping", source: "i16", output: "u8", values: "-1, 0, 12, 255, 256, 1e4, -32768" },
  {
    label: "truncating, NaN",
    source: "f32",
    output: "i16",
    values: "-1.9, 12.9, nan, inf, -inf, 40000.5, -0.0, 0.99999994, 1e-40",
  },
  {
    label: "ties, overflow",
    source: "f32",
    output: "bf16",
    values: "1.00390625, 1.01171875, 3.1415927, 3.4e38, -0.0, 0x7f800001, 16777217",
  },
  {
    label: "rounding twice",
    source: "u64",
    output: "bf16",
    values: "256, 257, 9007199254740993, 9259400833873739777, 18446744073709551615",
  },
  { label: "half floats", source: "f16", output: "f32", values: "65504, 6e-8, 0x7e00, 0x7c01, 0xfc00, 0.1" },
];

/** A computed-tomography volume in shards, and 8 random crops of it. */
export const DEFAULTS = {
  source: "f32",
  output: "i16",
  values: EXAMPLES[1].values,
  type: "u16",
  batchType: "f32",
  shape: "256, 512, 512",
  chunk: "32, 64, 64",
  shard: "128, 256, 256",
  crop: "64, 128, 128",
  batch: "8",
  window: "1",
  mode: "random",
  seed: "1",
  start: "96, 192, 192",
  ratio: "",
  axes: "",
};

/** Values longer than this are left out of the address. */
export const LONGEST_SHARED = 4000;

/** State -> the part of the address after '#': what differs from the defaults. Empty for the defaults. */
export function toHash(state) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (key in DEFAULTS && value !== DEFAULTS[key] && value.length <= LONGEST_SHARED) query.set(key, value);
  }
  return query.toString();
}

/** The part after '#' -> state. Unknown keys are ignored: the address is untrusted. */
export function fromHash(hash) {
  const state = { ...DEFAULTS };
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (Object.hasOwn(DEFAULTS, key) && value.length <= LONGEST_SHARED) state[key] = value;
  }
  return state;
}
