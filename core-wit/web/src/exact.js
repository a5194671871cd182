// Exact arithmetic on element values: bits -> value, value -> nearest bits, differences. BigInt only, no rounding.
//
// Every element of every type is a whole number times a power of two, so a finite value is { num, exp } and means
// num * 2^exp. This is what the marks compare with; it converts nothing that the page shows as a result.

/** Floating-point formats: bits of the exponent field and of the fraction field. */
export const FLOATS = {
  f16: { exponent: 5, fraction: 10 },
  bf16: { exponent: 8, fraction: 7 },
  f32: { exponent: 8, fraction: 23 },
};

/** Integer types: bits and whether they have a sign. */
export const INTS = Object.fromEntries(
  [8, 16, 32, 64].flatMap((bits) => [
    [`u${bits}`, { bits, signed: false }],
    [`i${bits}`, { bits, signed: true }],
  ]),
);

/** Bits an element. */
export const bitsOf = (type) => INTS[type]?.bits ?? 1 + FLOATS[type].exponent + FLOATS[type].fraction;

/** The smallest and largest value of an integer type. */
export function range(type) {
  const { bits, signed } = INTS[type];
  return signed ? [-(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n] : [0n, (1n << BigInt(bits)) - 1n];
}

/** An element's bits (an unsigned BigInt) -> { kind: "finite" | "inf" | "nan", negative, num, exp }. */
export function valueOf(type, bits) {
  if (INTS[type]) {
    const num = INTS[type].signed ? BigInt.asIntN(INTS[type].bits, bits) : bits;
    return { kind: "finite", negative: num < 0n, num, exp: 0 };
  }
  const { exponent, fraction } = FLOATS[type];
  const field = Number((bits >> BigInt(fraction)) & ((1n << BigInt(exponent)) - 1n));
  const part = bits & ((1n << BigInt(fraction)) - 1n);
  const negative = bits >> BigInt(exponent + fraction) === 1n;
  const top = 2 ** exponent - 1;
  if (field === top) return { kind: part ? "nan" : "inf", negative, num: 0n, exp: 0 };
  const magnitude = field ? part | (1n << BigInt(fraction)) : part;
  const exp = Math.max(field, 1) - (2 ** (exponent - 1) - 1) - fraction;
  return { kind: "finite", negative, num: negative ? -magnitude : magnitude, exp };
}

const abs = (n) => (n < 0n ? -n : n);
const bitLength = (n) => (n === 0n ? 0 : n.toString(2).length);

/** a - b for finite values. */
export function minus(a, b) {
  const exp = Math.min(a.exp, b.exp);
  const num = (a.num << BigInt(a.exp - exp)) - (b.num << BigInt(b.exp - exp));
  return { kind: "finite", negative: num < 0n, num, exp };
}

/** The absolute value. */
export const magnitude = (a) => ({ ...a, negative: false, num: abs(a.num) });

/** -1, 0 or 1. */
export function compare(a, b) {
  const { num } = minus(a, b);
  return num < 0n ? -1 : num > 0n ? 1 : 0;
}

/** The whole part, toward zero. */
export function truncated(a) {
  return a.exp >= 0 ? a.num << BigInt(a.exp) : a.num < 0n ? -(-a.num >> BigInt(-a.exp)) : a.num >> BigInt(-a.exp);
}

/** A whole number as a value. */
export const whole = (num) => ({ kind: "finite", negative: num < 0n, num, exp: 0 });

/** num / den (den > 0) -> bits of the nearest element of a float type, ties to even, past the largest to infinity. */
export function nearest(type, num, den, negative = num < 0n) {
  const { exponent, fraction } = FLOATS[type];
  const bias = 2 ** (exponent - 1) - 1;
  const sign = negative ? 1n << BigInt(exponent + fraction) : 0n;
  const top = abs(num);
  if (top === 0n) return sign;
  let e = bitLength(top) - bitLength(den);
  if (e >= 0 ? top < den << BigInt(e) : top << BigInt(-e) < den) e -= 1; // now 2^e <= top / den < 2^(e + 1)
  const unit = Math.max(e, 1 - bias) - fraction; // exponent of the last place
  const [a, b] = unit >= 0 ? [top, den << BigInt(unit)] : [top << BigInt(-unit), den];
  let n = a / b;
  const twice = 2n * (a % b);
  if (twice > b || (twice === b && n & 1n)) n += 1n;
  const scaled = BigInt(unit + fraction + bias - 1) << BigInt(fraction);
  const infinity = ((1n << BigInt(exponent)) - 1n) << BigInt(fraction);
  const bits = scaled + n; // a carry into the exponent field is what rounding up to a power of two means
  return sign | (bits > infinity ? infinity : bits);
}

/** A finite value -> bits of the nearest element of a float type. */
export function nearestTo(type, a) {
  return a.exp >= 0
    ? nearest(type, a.num << BigInt(a.exp), 1n, a.negative)
    : nearest(type, a.num, 1n << BigInt(-a.exp), a.negative);
}

/** A finite value's exact decimal digits. */
export function decimal(a) {
  const sign = a.negative ? "-" : "";
  const num = abs(a.num);
  if (a.exp >= 0) return sign + (num << BigInt(a.exp)).toString();
  const digits = (num * 5n ** BigInt(-a.exp)).toString().padStart(-a.exp + 1, "0");
  const fraction = digits.slice(a.exp).replace(/0+$/, "");
  return sign + digits.slice(0, a.exp) + (fraction && `.${fraction}`);
}
