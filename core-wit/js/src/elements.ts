// Element types: their names -> the component's cases, and typed arrays <-> bytes.
import { describe, typedArrayName } from "./check.js";
import { DamacyError, invalid } from "./errors.js";
import type { Dtype, Source } from "./types.js";

/** The typed array of each output type. */
const ARRAYS = {
  f32: Float32Array,
  bf16: Uint16Array,
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
} as const;

/** Any of them. */
export type OutputArray = InstanceType<(typeof ARRAYS)[Dtype]>;

/** The source type of each kind of typed array. */
const NATURAL: ReadonlyMap<string, Source> = new Map([
  ["Uint8Array", "u8"],
  ["Uint8ClampedArray", "u8"],
  ["Int8Array", "i8"],
  ["Uint16Array", "u16"],
  ["Int16Array", "i16"],
  ["Uint32Array", "u32"],
  ["Int32Array", "i32"],
  ["BigUint64Array", "u64"],
  ["BigInt64Array", "i64"],
  ["Float16Array", "f16"],
  ["Float32Array", "f32"],
]);

/** The source type of a kind of typed array. */
export function naturalSource(kind: string): Source {
  const source = NATURAL.get(kind);
  if (source !== undefined) return source;
  throw new DamacyError("DTYPE", `the source is a ${kind}; accepted are ${[...NATURAL.keys()].join(", ")}`);
}

/** The bytes of a typed array, DataView or ArrayBuffer, without a copy; fails if they cannot be read or are shared. */
export function bytesOf(value: ArrayBufferView | ArrayBuffer, what: string): Uint8Array<ArrayBuffer> {
  const view = ArrayBuffer.isView(value);
  let bytes: Uint8Array;
  try {
    bytes = view ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
    // A typed array outside of its resized buffer has length 0, and says so only when it is used.
    if (typedArrayName(value) !== undefined) Uint8Array.prototype.at.call(value as Uint8Array, 0);
  } catch (cause) {
    throw new DamacyError("INVAL", `${what} cannot be read: its buffer was detached or resized`, { cause });
  }
  if (Object.prototype.toString.call(bytes.buffer) === "[object SharedArrayBuffer]") {
    throw invalid(
      `${what} lies in a SharedArrayBuffer, which others may change meanwhile; accepted is memory of its own: copy it`,
    );
  }
  return bytes as Uint8Array<ArrayBuffer>;
}

/** A new array of an output type. */
export function newOutput(dtype: Dtype, length: number): OutputArray {
  try {
    return new ARRAYS[dtype](length);
  } catch (cause) {
    throw new DamacyError("OOM", `no memory for an answer of ${length} elements of ${dtype}`, { cause });
  }
}

/** Checks that an array can take `length` elements of an output type. */
export function checkOutput(out: unknown, dtype: Dtype, length: number): OutputArray {
  const wanted = ARRAYS[dtype].name;
  const kind = typedArrayName(out);
  if (kind !== wanted && !(kind === "Uint8ClampedArray" && wanted === "Uint8Array")) {
    throw invalid(`out is ${describe(out)}; accepted for ${dtype} is a ${wanted}`);
  }
  const array = out as OutputArray;
  bytesOf(array, "out");
  if (array.length < length) {
    throw invalid(`out has ${array.length} elements; accepted are ${length} or more, as many as the source has`);
  }
  return array;
}
