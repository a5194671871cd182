// Pasted text -> elements of a source type, as bits, with what could not be read and what was not kept exactly.
//
// Numbers in any usual form: 12, -1.5, 1e5, .5, 1_000, nan, inf, -inf; 0x7e00 is a bit pattern of the source type.
// Separators: white space, commas, semicolons, brackets. NumPy's and torch's printed arrays are read too.

import { FLOATS, INTS, bitsOf, compare, nearest, range, valueOf } from "./exact.js";
import { count } from "./extents.js";

/** What one paste may hold; the page says what it left out. */
export const LIMITS = { characters: 1_000_000, values: 50_000 };

const NUMBER = /^([+-]?)(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e([+-]?\d{1,6}))?$/i;
const SPECIAL = /^([+-]?)(nan|inf|infinity|∞)$/i;
const HEX = /^0x([\da-f_]+)$/i;
const SKIPPED = /^(array|tensor|dtype=.*)$/i;
/** Powers of ten past this are past every type; computing them would only take time. */
const LARGEST_POWER = 400;

/** What a source type accepts, in words. */
export function accepted(type) {
  const width = bitsOf(type) / 4;
  if (FLOATS[type]) return `${type} takes numbers (-1.5, 1e5), nan, inf, or 0x and up to ${width} hex digits as bits`;
  const [low, high] = range(type);
  return `${type} takes whole numbers from ${low} to ${high}, or 0x and up to ${width} hex digits as bits`;
}

/** One token -> { bits } or { problem }; `inexact` says that a float took the nearest value. */
export function parseValue(token, type) {
  const text = token.replaceAll("−", "-");
  const hex = HEX.exec(text);
  if (hex) {
    const bits = BigInt(`0x${hex[1].replaceAll("_", "") || "0"}`);
    if (bits >> BigInt(bitsOf(type))) return { problem: `has more than ${type}'s ${bitsOf(type)} bits` };
    return { bits };
  }
  const special = SPECIAL.exec(text);
  if (special) {
    if (INTS[type]) return { problem: `is no whole number` };
    const { exponent, fraction } = FLOATS[type];
    const top = ((1n << BigInt(exponent)) - 1n) << BigInt(fraction);
    const sign = special[1] === "-" ? 1n << BigInt(exponent + fraction) : 0n;
    return { bits: sign | top | (/^n/i.test(special[2]) ? 1n << BigInt(fraction - 1) : 0n) };
  }
  const number = NUMBER.exec(text);
  if (!number) return { problem: "is no number" };
  return fromDecimal(number, type);
}

function fromDecimal([, sign, mantissa, exponent], type) {
  const [left, right = ""] = mantissa.replaceAll("_", "").split(".");
  const significant = (left + right).replace(/^0+/, "");
  let power = Number(exponent ?? 0) - right.length;
  const leading = significant.length + power; // the number is below 10^leading
  let digits = significant ? "1" : "0";
  if (!significant) power = 0;
  else if (leading > LARGEST_POWER) power = LARGEST_POWER;
  else if (leading < -LARGEST_POWER) power = -LARGEST_POWER;
  else digits = significant;
  digits = BigInt(digits);
  const negative = sign === "-";
  const signed = negative ? -digits : digits;
  const num = power >= 0 ? signed * 10n ** BigInt(power) : signed;
  const den = power >= 0 ? 1n : 10n ** BigInt(-power);
  if (INTS[type]) {
    if (num % den) return { problem: "is no whole number" };
    const [low, high] = range(type);
    if (num / den < low || num / den > high) return { problem: `is outside ${type}` };
    return { bits: BigInt.asUintN(INTS[type].bits, num / den) };
  }
  const bits = nearest(type, num, den, negative);
  const got = valueOf(type, bits);
  if (got.kind === "inf") return { bits, inexact: "inf" };
  const scaled = { ...got, num: got.num * den };
  return { bits, inexact: compare(scaled, { num, exp: 0 }) ? "nearest" : undefined };
}

/**
 * Text -> { values: [{ token, bits, inexact }], bad: [{ index, token, problem }], badCount, left }.
 * `left` says in words what a limit left out, or is empty. `index` counts from 1, over good and bad alike.
 */
export function parseValues(text, type) {
  const left = [];
  if (text.length > LIMITS.characters) {
    left.push(`only the first ${count(LIMITS.characters)} of ${count(text.length)} characters were read`);
    text = text.slice(0, LIMITS.characters).replace(/[^\s,;]*$/, "");
  }
  const tokens = text.split(/[\s,;()[\]{}"']+/).filter((token) => token && !SKIPPED.test(token));
  if (tokens.length > LIMITS.values) {
    left.push(`only the first ${count(LIMITS.values)} of ${count(tokens.length)} values are converted`);
    tokens.length = LIMITS.values;
  }
  const values = [];
  const bad = [];
  let badCount = 0;
  for (const [at, token] of tokens.entries()) {
    const got = parseValue(token, type);
    if (!got.problem) values.push({ token, ...got });
    else if (++badCount <= 3)
      bad.push({ index: at + 1, token: token.length > 24 ? `${token.slice(0, 24)}…` : token, problem: got.problem });
  }
  return { values, bad, badCount, left: left.join("; ") };
}

/** Values -> the elements' bytes, little-endian. */
export function toBytes(values, type) {
  const width = bitsOf(type) / 8;
  const bytes = new Uint8Array(values.length * width);
  const view = new DataView(bytes.buffer);
  const set = SETTERS[width];
  values.forEach(({ bits }, i) => view[set](i * width, width === 8 ? bits : Number(bits), true));
  return bytes;
}

/** The bits of element `index` of little-endian bytes. */
export function bitsAt(bytes, index, width) {
  const view = new DataView(bytes.buffer, bytes.byteOffset + index * width, width);
  return width === 8 ? view.getBigUint64(0, true) : BigInt(view[GETTERS[width]](0, true));
}

const SETTERS = { 1: "setUint8", 2: "setUint16", 4: "setUint32", 8: "setBigUint64" };
const GETTERS = { 1: "getUint8", 2: "getUint16", 4: "getUint32" };
