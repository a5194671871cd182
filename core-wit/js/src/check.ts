// Arguments of any type -> values that the component takes unchanged, or a DamacyError that names the place.
//
// jco wraps numbers into range, reads getters several times and stops half way at a wrong type: hence checks before it.
import { invalid } from "./errors.js";

const MAX_U64 = 2n ** 64n - 1n;
const MAX_U32 = 2 ** 32 - 1;

const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!;

/** `Uint8Array` and the like for typed arrays of any realm; undefined for anything else. */
export const typedArrayName = (value: unknown): string | undefined => tagOf.call(value) as string | undefined;

/** A value in a few words, for messages. Runs no code of the value's. */
export function describe(value: unknown): string {
  if (typeof value === "string")
    return value.length > 60 ? `a string of ${value.length} characters` : JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const name = typedArrayName(value) ?? Object.prototype.toString.call(value).slice("[object ".length, -1);
  return name === "Object" ? "an object" : `a value of type ${name}`;
}

/** An integer from 0 to 2^64 - 1 as a bigint. */
export function u64(value: unknown, what: string): bigint {
  if (typeof value === "bigint" && value >= 0n && value <= MAX_U64) return value;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw invalid(
    `${what} is ${describe(value)}; accepted are integers from 0 to 2^53 - 1, and bigints from 0n to 2^64 - 1`,
  );
}

/** An integer from 0 to 2^32 - 1 as a number. */
export function u32(value: unknown, what: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_U32) return value;
  throw invalid(`${what} is ${describe(value)}; accepted are integers from 0 to 2^32 - 1`);
}

/** The items of an array or typed array, each through `item`. Holes are undefined, and so refused by `item`. */
export function list<T>(value: unknown, what: string, item: (value: unknown, what: string) => T): T[] {
  if (!Array.isArray(value) && typedArrayName(value) === undefined) {
    throw invalid(`${what} is ${describe(value)}; accepted is an array`);
  }
  return Array.from(value as ArrayLike<unknown>, (element, i) => item(element, `${what}[${i}]`));
}

/** A list of integers from 0 to 2^64 - 1. */
export const u64s = (value: unknown, what: string): BigUint64Array => BigUint64Array.from(list(value, what, u64));

/** An object that is no array, to read fields of. */
export function fields(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)) {
    return value as Record<string, unknown>;
  }
  throw invalid(`${what} is ${describe(value)}; accepted is an object`);
}

/** An object of options, each of which may be left out; one that is not `accepted` is refused, as it may be misspelt. */
export function optional(value: unknown, what: string, accepted: readonly string[]): Record<string, unknown> {
  const given = fields(value, what);
  const unknown = Object.keys(given).find((key) => !accepted.includes(key));
  if (unknown === undefined) return given;
  throw invalid(`${what} has ${describe(unknown)}; accepted are ${accepted.join(", ")}`);
}

/** One of a few words. */
export function oneOf<T extends string>(value: unknown, what: string, words: readonly T[]): T {
  if ((words as readonly unknown[]).includes(value)) return value as T;
  throw invalid(`${what} is ${describe(value)}; accepted are ${words.map((word) => `"${word}"`).join(", ")}`);
}

/** True or false. */
export function truth(value: unknown, what: string): boolean {
  if (typeof value === "boolean") return value;
  throw invalid(`${what} is ${describe(value)}; accepted are true and false`);
}

/** A string. */
export function text(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw invalid(`${what} is ${describe(value)}; accepted is a string`);
}

/** A finite number above 0. */
export function ratio(value: unknown, what: string): number {
  if (typeof value === "number" && value > 0 && value < Infinity) return value;
  throw invalid(`${what} is ${describe(value)}; accepted are finite numbers above 0`);
}
