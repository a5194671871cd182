// (source value, output value) -> what the conversion did to it, by exact comparison.
//
// The output comes from the component; here it is only compared with the source. A result that follows none of the
// rules is said to be unexpected, so the page checks the component on every value that it shows.

import {
  FLOATS,
  INTS,
  bitsOf,
  compare,
  decimal,
  magnitude,
  minus,
  nearestTo,
  range,
  truncated,
  valueOf,
  whole,
} from "./exact.js";

/** Kinds of change: the word beside the value and a sign, so that no mark is colour alone. Worst first. */
export const KINDS = {
  unexpected: { word: "unexpected", sign: "‼" },
  clamped: { word: "clamped", sign: "⇥" },
  overflow: { word: "overflow", sign: "∞" },
  nan: { word: "NaN to 0", sign: "∅" },
  truncated: { word: "truncated", sign: "⌊" },
  rounded: { word: "rounded", sign: "≈" },
  sign: { word: "sign lost", sign: "±" },
  exact: { word: "exact", sign: "=" },
};

/** Longest number written out in a note. */
const LONGEST = 27;

/** Exact digits where they are few, else the leading ones. */
function digits(value) {
  const exact = decimal(magnitude(value));
  return exact.length <= LONGEST ? exact : `about ${Number(Number(exact).toPrecision(9))}`;
}

/** What happened to one value: { kind, text }. Bits are unsigned BigInts. */
export function note(source, sourceBits, output, outputBits) {
  const from = valueOf(source, sourceBits);
  const to = valueOf(output, outputBits);
  return INTS[output] ? toInteger(from, to, output) : toFloat(from, to, source, sourceBits, output, outputBits);
}

function toInteger(from, to, output) {
  const [low, high] = range(output);
  const unexpected = { kind: "unexpected", text: "follows none of the rules: please report it" };
  if (from.kind === "nan") return to.num === 0n ? { kind: "nan", text: "NaN has no integer: 0" } : unexpected;
  const limit = from.negative ? low : high;
  const name = `${from.negative ? "smallest" : "largest"} ${output}`;
  if (from.kind === "inf") {
    return to.num === limit ? { kind: "clamped", text: `infinity: the ${name}` } : unexpected;
  }
  const wanted = truncated(from);
  if (wanted < low || wanted > high) {
    if (to.num !== limit) return unexpected;
    return {
      kind: "clamped",
      text: `${digits(minus(from, whole(limit)))} ${from.negative ? "below" : "above"} the ${name}`,
    };
  }
  if (to.num !== wanted) return unexpected;
  const rest = minus(from, whole(wanted));
  if (rest.num !== 0n) return { kind: "truncated", text: `${digits(rest)} dropped, toward zero` };
  if (from.negative && from.num === 0n) return { kind: "sign", text: "-0 is 0 here" };
  return { kind: "exact", text: "" };
}

function toFloat(from, to, source, sourceBits, output, outputBits) {
  const unexpected = { kind: "unexpected", text: "follows none of the rules: please report it" };
  if (from.kind === "nan") {
    if (outputBits !== nanBits(source, sourceBits, output)) return unexpected;
    return { kind: "exact", text: nanText(source, sourceBits, output) };
  }
  // By way of f32, as the rules say: rounding twice can differ from rounding once.
  const single = from.kind === "inf" ? undefined : nearestTo("f32", from);
  const between = single === undefined ? from : valueOf("f32", single);
  const expected = output === "f32" ? single : between.kind === "inf" ? undefined : nearestTo(output, between);
  if (from.kind === "inf") {
    return to.kind === "inf" && to.negative === from.negative ? { kind: "exact", text: "" } : unexpected;
  }
  if (outputBits !== expected) return unexpected;
  if (to.kind === "inf") return { kind: "overflow", text: `past the largest finite ${output}: rounds to infinity` };
  const error = minus(to, from);
  if (error.num === 0n) return { kind: "exact", text: "" };
  const text = [`off by ${error.negative ? "-" : "+"}${digits(error)}`];
  if (to.num === 0n) text.push("rounds to zero");
  if (outputBits !== nearestTo(output, from)) text.push("rounded twice, by way of f32");
  else if (isTie(from, to, output, outputBits)) text.push("a tie, to even");
  return { kind: "rounded", text: text.join("; ") };
}

/** Whether the source lies half-way between the output and its neighbour on the source's side. */
function isTie(from, to, output, outputBits) {
  const outward = compare(magnitude(from), magnitude(to)) > 0;
  const neighbour = valueOf(output, outputBits + (outward ? 1n : -1n));
  if (neighbour.kind !== "finite") return false;
  return compare(magnitude(minus(from, neighbour)), magnitude(minus(from, to))) === 0;
}

/** The NaN that the rules ask for: sign and upper payload kept; the quiet bit set unless f32 stays f32. */
function nanBits(source, bits, output) {
  let [at, type] = [bits, source];
  if (type === "f16") {
    at = ((at >> 15n) << 31n) | 0x7f800000n | ((at & 0x3ffn) << 13n) | 0x400000n;
    type = "f32";
  }
  return output === "f32" ? at : (at >> 16n) | 0x40n;
}

function nanText(source, bits, output) {
  if (source === output) return "NaN, every bit kept";
  const quiet = (bits >> BigInt(FLOATS[source].fraction - 1)) & 1n;
  const lost = source === "f32" && output === "bf16" && bits & 0xffffn;
  return `NaN, sign and ${lost ? "upper payload" : "payload"} kept${quiet ? "" : "; quiet bit set"}`;
}

/** Digits of whole numbers, and of others, that are written out in full. */
const IN_FULL = { whole: 20, other: 14 };

/**
 * An element for reading: its exact digits where they are few, else the shortest decimal that names it and no other f32
 * (f16 and bf16 values are f32 values too, and equal values should look equal).
 */
export function show(type, bits) {
  const value = valueOf(type, bits);
  const sign = value.negative ? "-" : "";
  if (value.kind === "nan") return `${sign}nan`;
  if (value.kind === "inf") return `${sign}inf`;
  if (INTS[type]) return value.num.toString();
  if (value.num === 0n) return `${sign}0`;
  const exact = decimal(value);
  if (exact.length <= (exact.includes(".") ? IN_FULL.other : IN_FULL.whole)) return exact;
  const number = Number(value.num) * 2 ** value.exp; // exact: both factors and the product fit a double
  for (let places = 1; places < 10; places += 1) {
    const short = number.toPrecision(places);
    if (Math.fround(Number(short)) === number) return String(Number(short));
  }
  return String(number);
}

/** An element's bits for reading: 0x and all its hex digits. */
export const hex = (type, bits) => `0x${bits.toString(16).padStart(bitsOf(type) / 4, "0")}`;
