// The types of the public API: jco's own, generated from the component's WIT, wherever there are some.
//
// Written here is only what jco does not know: names in full and in any case, typed arrays for elements, plain numbers
// beside bigints in arguments, and what may be left out.
import type * as cost from "./component/interfaces/damacy-core-cost.js";
import type * as tables from "./component/interfaces/damacy-core-dtypes.js";
import type * as metadata from "./component/interfaces/damacy-core-metadata.js";
import type * as planner from "./component/interfaces/damacy-core-planner.js";
import type { ByteOrder, Dtype, Source } from "./component/interfaces/damacy-core-types.js";

export type { ByteOrder, Dtype, Source };

/** The typed array that holds each output type, by short and full name. */
export interface OutputArrays {
  f32: Float32Array<ArrayBuffer>;
  float32: Float32Array<ArrayBuffer>;
  /** The upper 16 bits of a float32. */
  bf16: Uint16Array<ArrayBuffer>;
  bfloat16: Uint16Array<ArrayBuffer>;
  u8: Uint8Array<ArrayBuffer>;
  uint8: Uint8Array<ArrayBuffer>;
  u16: Uint16Array<ArrayBuffer>;
  uint16: Uint16Array<ArrayBuffer>;
  u32: Uint32Array<ArrayBuffer>;
  uint32: Uint32Array<ArrayBuffer>;
  u64: BigUint64Array<ArrayBuffer>;
  uint64: BigUint64Array<ArrayBuffer>;
  i8: Int8Array<ArrayBuffer>;
  int8: Int8Array<ArrayBuffer>;
  i16: Int16Array<ArrayBuffer>;
  int16: Int16Array<ArrayBuffer>;
  i32: Int32Array<ArrayBuffer>;
  int32: Int32Array<ArrayBuffer>;
  i64: BigInt64Array<ArrayBuffer>;
  int64: BigInt64Array<ArrayBuffer>;
}

/** Names of an output type: short or full, in any case at run time. */
export type DtypeName = keyof OutputArrays;

/** Names of a source type: short or full, in any case at run time. */
export type SourceName = Exclude<DtypeName, "bf16" | "bfloat16"> | "f16" | "float16";

/** What has a natural element type; `Float16Array` by its shape, for libraries that do not declare it. */
export type ElementArray =
  | Uint8Array
  | Uint8ClampedArray
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | Float32Array
  | { readonly [Symbol.toStringTag]: "Float16Array"; readonly buffer: ArrayBufferLike; readonly length: number };

/** What holds elements of any type in either byte order. */
export type RawBytes = Uint8Array | ArrayBuffer | DataView;

/** How to read the source of a conversion. */
export interface ConvertOptions {
  /** Element type of raw bytes, or `float16` for a `Uint16Array` of float16 bits. */
  source?: SourceName | undefined;
  /** Byte order of raw bytes; little by default. */
  byteOrder?: ByteOrder | undefined;
}

/** The functions of one loaded component. */
export interface Damacy {
  /**
   * Converts elements: values clamp to integer outputs (floats are truncated first, NaN is 0), and round to nearest,
   * ties to even, in float outputs.
   *
   * @param source Elements; raw bytes need `options.source`.
   * @param dtype Output type.
   * @param options How to read the source, and `out`: where to write, an array of the answer's kind with at least as
   *   many elements, that does not overlap the source.
   * @returns `out`, or a new array.
   * @throws {DamacyError} `INVAL` for bad arguments, `DTYPE` for a source without a conversion; nothing is written.
   */
  convert<D extends DtypeName, O extends OutputArrays[D]>(
    source: ElementArray | RawBytes,
    dtype: D,
    options: ConvertOptions & { out: O },
  ): O;
  convert<D extends DtypeName>(
    source: ElementArray | RawBytes,
    dtype: D,
    options?: ConvertOptions & { out?: undefined },
  ): OutputArrays[D];

  /**
   * Parses Zarr array metadata.
   *
   * @param document Text, bytes, or the object that `JSON.parse` makes of them (64-bit fill values need the text).
   * @throws {DamacyError} `DECODE` (naming the place), `UNSUPPORTED` (naming the grid, codec or extension), `BUDGET`
   *   for a limit, `INVAL` for a document that is no array.
   */
  parseMetadata(document: MetadataDocument, options: MetadataOptions): ArrayMetadata;

  /** The key of a stored object, relative to the array, from its coordinates in the grid of objects. */
  objectKey(array: ArrayInput, coords: Integers): string;

  /**
   * Plans a window of samples: which chunks to read, in which order, and where each goes.
   *
   * @throws {DamacyError} `INVAL` for a bad spec or box, `RANK`, `DTYPE`, `BUDGET`; blames the first sample at fault.
   */
  plan(request: PlanRequest): Plan;

  /**
   * Prices a job: chunks, bytes, waste and memory, and advice on the layout and the look-ahead where it is asked for.
   * Exact for given boxes, where it agrees with `plan`; on average, in closed form, for crops that are drawn.
   *
   * @throws {DamacyError} As `plan`; `INVAL` also for a window or workers of 0, and for weights, strides or encoded
   *   sizes that do not match the arrays.
   */
  estimate(request: EstimateRequest): Estimate;

  /** Every output type, by value. */
  readonly dtypes: readonly DtypeInfo[];
  /** Every source type. */
  readonly sources: readonly SourceInfo[];

  /** Bytes of the component's memory now. It never shrinks. */
  memoryBytes(): number;
}

/** A count, size or position of up to 64 bits: a bigint, or a number without loss (an integer from 0 to 2^53 - 1). */
export type Integer = number | bigint;

/** A list of them. */
export type Integers = readonly Integer[] | BigUint64Array | Uint32Array | Uint16Array | Uint8Array;

/** A generated type as an argument: numbers count as bigints, plain arrays as typed ones; undefined is left out. */
export type Given<T> = T extends bigint
  ? Integer
  : T extends BigUint64Array
    ? Integers
    : T extends Float64Array
      ? readonly number[] | Float64Array
      : T extends Uint8Array
        ? Uint8Array
        : T extends readonly unknown[]
          ? { readonly [K in keyof T]: Given<T[K]> }
          : T extends object
            ? { readonly [K in keyof T]: Given<T[K]> | (object extends Pick<T, K> ? undefined : never) }
            : T;

/** A generated type as an answer, which is not to be written to. */
export type Answer<T> = T extends ArrayBufferView
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Answer<T[K]> }
    : T;

/** What may be left out. */
type Options<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** An output type. */
export type DtypeInfo = Answer<tables.OutputInfo>;

/** A source type. */
export type SourceInfo = Answer<tables.SourceInfo>;

/** A metadata document. */
export type MetadataDocument = string | Uint8Array | ArrayBuffer | Readonly<Record<string, unknown>>;

/** What to parse, and limits on it. */
export interface MetadataOptions {
  /** `v3` for `zarr.json`, `v2` for `.zarray`. */
  format: metadata.Format;
  limits?: Options<MetadataLimits> | undefined;
}

/** Limits on untrusted documents. Defaults: 4 MiB of JSON, 64 levels, 2^18 values, 32 axes, 64 codecs. */
export type MetadataLimits = Given<metadata.Limits>;

/** An array as the planner takes it: `ArrayMetadata`, or one made by hand. */
export type ArrayInput = Given<metadata.Array>;

/** What `parseMetadata` answers. */
export type ArrayMetadata = Answer<metadata.Array>;

/** What every batch looks like; the output type by any of its names. */
export interface BatchSpec extends Omit<Given<planner.BatchSpec>, "dtype"> {
  readonly dtype: DtypeName;
}

/** Limits on one call. Defaults: 64 MiB of working memory and answer, 2^20 chunk uses. */
export type PlanLimits = Given<planner.Limits>;

/** One crop. */
export type Sample = Given<planner.Sample>;

/** A window of samples, in order, `spec.samples` to a batch; the last batch may be partial. */
export interface PlanRequest
  extends
    Pick<Given<planner.Request>, "arrays" | "samples">,
    Options<Pick<Given<planner.Request>, "missing" | "encodedRatios">> {
  readonly spec: BatchSpec;
  readonly limits?: Options<PlanLimits> | undefined;
}

/** A window's plan. */
export type Plan = Answer<planner.Plan>;

/** One unique chunk. */
export type PlannedChunk = Answer<planner.Chunk>;

/** What a plan costs, in bytes unless said otherwise. */
export type PlanTotals = Answer<planner.Totals>;

/** Which crops a job takes. */
export type Crops = Given<cost.Crops>;

/** What is known of the encoded sizes of an array's chunks. */
export type Encoded = Given<cost.Encoded>;

/**
 * One job to price. Defaults: all arrays drawn alike, no encoded size known, a window of 64 samples, one decode at a time,
 * 1 GiB of memory, no chunk cache, no advice.
 */
export interface EstimateRequest
  extends
    Pick<Given<cost.Request>, "arrays" | "crops">,
    Options<Omit<Given<cost.Request>, "spec" | "arrays" | "crops" | "limits">> {
  readonly spec: BatchSpec;
  readonly limits?: Options<PlanLimits> | undefined;
}

/** What a job costs. `outputBytes` is in the order of `dtypes`. */
export type Estimate = Answer<cost.Report>;

/** The current layout of an array and the best one found. */
export type LayoutAdvice = Answer<cost.LayoutAdvice>;

/** A layout and what crops cost with it. */
export type Layout = Answer<cost.Layout>;

/** How far to look ahead. */
export type LookAheadAdvice = Answer<cost.LookAheadAdvice>;
