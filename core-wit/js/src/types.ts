// The types of the public API. Everything that is 64 bits wide in the component is a bigint here.

/** Output types, short names. */
export type Dtype = "f32" | "bf16" | "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64";

/** Source types, short names. */
export type Source = "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64" | "f16" | "f32";

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

/** Byte order of raw bytes. */
export type ByteOrder = "little" | "big";

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

  /** Every output type. */
  readonly dtypes: readonly DtypeInfo[];
  /** Every source type. */
  readonly sources: readonly SourceInfo[];

  /** Bytes of the component's memory now. It never shrinks. */
  memoryBytes(): number;
}

/** An output type. */
export interface DtypeInfo {
  /** Short name. */
  readonly dtype: Dtype;
  /** `float32`, `bfloat16`, `uint8` ... */
  readonly fullName: string;
  /** Bytes an element. */
  readonly width: number;
}

/** A source type. */
export interface SourceInfo {
  /** Short name. */
  readonly source: Source;
  /** `uint8` ... `float16`, `float32`. */
  readonly fullName: string;
  /** Bytes an element. */
  readonly width: number;
}

/** A count, size or position of up to 64 bits: a bigint, or a number without loss (an integer from 0 to 2^53 - 1). */
export type Integer = number | bigint;

/** A list of them. */
export type Integers = readonly Integer[] | BigUint64Array | Uint32Array | Uint16Array | Uint8Array;

/** A metadata document. */
export type MetadataDocument = string | Uint8Array | ArrayBuffer | Readonly<Record<string, unknown>>;

/** What to parse, and limits on it. */
export interface MetadataOptions {
  /** `v3` for `zarr.json`, `v2` for `.zarray`. */
  format: "v2" | "v3";
  limits?: Partial<MetadataLimits> | undefined;
}

/** Limits on untrusted documents. */
export interface MetadataLimits {
  /** Bytes of JSON; 4 MiB by default. */
  maxBytes: Integer;
  /** Nesting of arrays and objects; 64 by default. */
  maxDepth: number;
  /** JSON values: scalars, arrays, objects and keys; 2^18 by default. */
  maxValues: Integer;
  /** Axes of the array; 32 by default. */
  maxRank: number;
  /** Codecs, over all nested chains; 64 by default. */
  maxCodecs: number;
}

/** An array as the planner takes it: `ArrayMetadata`, or one made by hand. */
export interface ArrayInput {
  readonly format: "v2" | "v3";
  /** Elements along each axis; may be 0. */
  readonly shape: Integers;
  /** The data type as the document names it: `uint16`, `float64`, `>u2`. */
  readonly dataType: string;
  /** The source type; undefined for a type without a conversion. */
  readonly source?: Source | undefined;
  /** Byte order of stored elements. */
  readonly byteOrder: ByteOrder;
  /** Order of elements inside a chunk: `c`, the last axis varies fastest; `f`, the first (Zarr v2 `"order": "F"`). */
  readonly layout: "c" | "f";
  /**
   * Chunk shapes, outermost first: the stored object, then each level of shards that can be read in part. The last is
   * the unit that is read and decoded. Never empty, extents at least 1, each divides the one before.
   */
  readonly levels: readonly Integers[];
  /** How chunk coordinates become object keys. */
  readonly keyEncoding: { readonly style: "default" | "v2"; readonly separator: string };
  /** The fill value as one little-endian element; empty without a source type. */
  readonly fillValue: Uint8Array;
  /** Names of all codecs in order, nested ones after their parent. */
  readonly codecs: readonly string[];
}

/** What `parseMetadata` answers. */
export interface ArrayMetadata extends ArrayInput {
  readonly shape: BigUint64Array;
  readonly levels: readonly BigUint64Array[];
}

/** A window of samples, in order, `spec.samples` to a batch; the last batch may be partial. */
export interface PlanRequest {
  /** What every batch looks like: samples a batch, extents of each sample, output type. */
  spec: { samples: Integer; shape: Integers; dtype: DtypeName };
  /** The arrays that samples index. */
  arrays: readonly ArrayInput[];
  /** The crops: index into `arrays`, and half-open bounds for each axis, in stored axis order. */
  samples: readonly { array: number; bounds: readonly (readonly [Integer, Integer])[] }[];
  /** Chunks known to be missing, by coordinates in the grid of the array's last level: they become fills. */
  missing?: readonly { array: number; coords: Integers }[] | undefined;
  /** Encoded bytes / decoded bytes for each array; left out if unknown. */
  encodedRatios?: readonly number[] | Float64Array | undefined;
  /** Bytes of working memory and answer (64 MiB by default); chunk uses (2^20 by default). */
  limits?: { memoryBytes?: Integer | undefined; maxChunks?: Integer | undefined } | undefined;
}

/**
 * A window's plan.
 *
 * Chunk `c` lies at `coords[c * rank ..][.. rank]` in the grid of its array's last level. Use `u` belongs to sample
 * `uses[u]` and copies the box of `useExtents[u * rank ..]` elements that starts at `useSources[u * rank ..]` inside
 * the chunk to `useTargets[u * rank ..]` inside the sample.
 */
export interface Plan {
  /** Axes of every box. */
  readonly rank: number;
  /** Unique chunks in reading order, fills included. */
  readonly chunks: readonly PlannedChunk[];
  /** Chunk coordinates. */
  readonly coords: BigUint64Array;
  /** Sample of each use. */
  readonly uses: Uint32Array;
  /** Start of each use inside its chunk, elements. */
  readonly useSources: BigUint64Array;
  /** Extent of each use, elements. */
  readonly useExtents: BigUint64Array;
  /** Start of each use inside its sample, elements. */
  readonly useTargets: BigUint64Array;
  /** The figures. */
  readonly totals: PlanTotals;
}

/** One unique chunk. */
export interface PlannedChunk {
  /** Index into the request's arrays. */
  readonly array: number;
  /** First of its uses. */
  readonly firstUse: number;
  /** How many uses follow. */
  readonly useCount: number;
  /** True if the caller reported it missing: its uses are fills. */
  readonly missing: boolean;
}

/** What a plan costs, in bytes unless said otherwise. */
export interface PlanTotals {
  /** Elements of all samples. */
  readonly elements: bigint;
  /** Those elements in the output type. */
  readonly outputBytes: bigint;
  /** One whole batch in the output type. */
  readonly batchBytes: bigint;
  /** The crops in their source types. */
  readonly neededBytes: bigint;
  /** Unique chunks to decode, fills excluded, decoded size. */
  readonly decodedBytes: bigint;
  /** Encoded size of those chunks, if ratios were given. */
  readonly readBytes?: bigint | undefined;
  /** Largest decoded chunk. */
  readonly largestChunkBytes: bigint;
  /** Host memory to run the window at once. */
  readonly memoryBytes: bigint;
  /** decodedBytes / neededBytes; below 1 where samples overlap. */
  readonly decodeWaste: number;
  /** readBytes / neededBytes, if known. */
  readonly readWaste?: number | undefined;
}
