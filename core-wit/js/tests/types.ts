// Typed use of the installed package, checked by tsc in strict mode; not run.
import {
  convert,
  DamacyError,
  estimate,
  objectKey,
  parseMetadata,
  plan,
  type ArrayMetadata,
  type Dtype,
  type DtypeName,
  type Estimate,
  type EstimateRequest,
  type Plan,
  type Status,
} from "damacy";
import { load, type Damacy } from "damacy/load";

const bytes: Uint8Array<ArrayBuffer> = convert(new Int16Array([1]), "uint8");
const wide: BigInt64Array<ArrayBuffer> = convert(new BigUint64Array(1), "i64");
const brain: Uint16Array = convert(new Float32Array(1), "bf16");
const halves: Float32Array = convert(new Uint16Array(1), "f32", { source: "float16" });
const raw: Float32Array = convert(new DataView(new ArrayBuffer(2)), "f32", { source: "u16", byteOrder: "big" });
const out: Float32Array = convert(new Uint8Array(4), "f32", { out: new Float32Array(4) });
// A name known only at run time gives one of the arrays.
declare const name: DtypeName;
const some: number = convert(new Uint8Array(4), name).byteLength;

// @ts-expect-error: bfloat16 comes as bits in a Uint16Array
const wrongArray: Float32Array = convert(new Float32Array(1), "bf16");
// @ts-expect-error: no such type
convert(new Float32Array(1), "float64");
// @ts-expect-error: no conversion from float64
convert(new Float64Array(1), "f32");
// @ts-expect-error: out is of another kind
convert(new Float32Array(1), "f32", { out: new Uint8Array(4) });
// @ts-expect-error: plain arrays have no element type
convert([1, 2], "f32");

const array: ArrayMetadata = parseMetadata("{}", { format: "v3", limits: { maxBytes: 10n, maxDepth: 3 } });
// @ts-expect-error: the format must be said
parseMetadata("{}", {});
const extent: bigint | undefined = array.shape[0];
const made: Plan = plan({
  spec: { samples: 2, shape: [4n, 4], dtype: "bfloat16" },
  arrays: [array, { ...array, shape: [1, 2n], levels: [[1, 2]] }],
  samples: [
    {
      array: 0,
      bounds: [
        [0, 4n],
        [0, 4],
      ],
    },
  ],
  missing: [{ array: 0, coords: BigUint64Array.of(0n, 1n) }],
  encodedRatios: [0.5],
});
const waste: number = made.totals.decodeWaste;
const size: bigint = made.totals.batchBytes;
const read: bigint | undefined = made.totals.readBytes;
const job: EstimateRequest = {
  spec: { samples: 8, shape: [4, 4n], dtype: "uint8" },
  arrays: [array],
  crops: { tag: "grid", val: [2, 2] },
  encoded: [{ tag: "ratio", val: 0.5 }, { tag: "chunks", val: [1, 2n] }, { tag: "unknown" }],
  window: 64,
  limits: { maxChunks: 10 },
};
const priced: Estimate = estimate(job);
estimate({ ...job, crops: { tag: "boxes", val: [{ array: 0, bounds: [[0, 4n]] }] }, weights: undefined });
const shape: bigint | undefined = priced.layout?.best.levels[0]?.[0];
const certain: "exact" | "expected" | "approximate" = priced.certainty;
const steps: readonly { readonly samples: bigint; readonly decodeWaste: number }[] = priced.lookAhead?.steps ?? [];
// @ts-expect-error: no such crops
estimate({ ...job, crops: { tag: "random" } });
// @ts-expect-error: the crops must be said
estimate({ spec: job.spec, arrays: [] });
// @ts-expect-error: a typo
estimate({ ...job, windows: 3 });
// @ts-expect-error: answers are not to be written to
priced.samples = 3n;
// @ts-expect-error: levels are lists of extents
plan({ spec: job.spec, arrays: [{ ...array, levels: ["4"] }], samples: [] });
const key: string = objectKey(array, [0, 1n]);
try {
  plan({ spec: { samples: 1, shape: [], dtype: "u8" }, arrays: [], samples: [] });
} catch (error) {
  if (error instanceof DamacyError) {
    const status: Status = error.status;
    const sample: number | undefined = error.sample;
    void [status, sample];
  }
}
const damacy: Promise<Damacy> = load({ wasm: new Uint8Array(8) });
const short: Dtype[] = (await damacy).dtypes.map(({ dtype }) => dtype);
void [shape, certain, steps, bytes, wide, brain, halves, raw, out, some, wrongArray, extent, waste, size, read, key, short];
