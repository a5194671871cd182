// A window of samples -> its plan.
import { describe, fields, list, optional, ratio, u32, u64, u64s } from "./check.js";
import type { Core } from "./core.js";
import { invalid } from "./errors.js";
import { arrayInput } from "./metadata.js";
import type { Names } from "./names.js";
import type { Plan } from "./types.js";

const REQUEST = ["spec", "arrays", "samples", "missing", "encodedRatios", "limits"] as const;
const LIMITS = ["memoryBytes", "maxChunks"] as const;

/** Makes `plan` of a component. */
export function makePlan(core: Core, names: Names) {
  return (value: unknown): Plan => {
    const request = optional(value, "the request", REQUEST);
    const spec = fields(request["spec"], "spec");
    const { memoryBytes = 64 << 20, maxChunks = 1 << 20 } = optional(request["limits"] ?? {}, "limits", LIMITS);
    const checked = {
      spec: {
        samples: u64(spec["samples"], "spec.samples"),
        shape: u64s(spec["shape"], "spec.shape"),
        dtype: names.dtype(spec["dtype"], "spec.dtype"),
      },
      arrays: list(request["arrays"], "arrays", (array, what) => arrayInput(array, what, names)),
      samples: list(request["samples"], "samples", sample),
      missing: list(request["missing"] ?? [], "missing", missing),
      encodedRatios: Float64Array.from(list(request["encodedRatios"] ?? [], "encodedRatios", ratio)),
      limits: { memoryBytes: u64(memoryBytes, "limits.memoryBytes"), maxChunks: u64(maxChunks, "limits.maxChunks") },
    };
    return core.call(({ planner }) => planner.window(checked as never));
  };
}

function sample(value: unknown, what: string) {
  const { array, bounds } = fields(value, what);
  return { array: u32(array, `${what}.array`), bounds: list(bounds, `${what}.bounds`, interval) };
}

function interval(value: unknown, what: string): [bigint, bigint] {
  if (!Array.isArray(value) || value.length !== 2) {
    throw invalid(`${what} is ${describe(value)}; accepted is [start, stop]`);
  }
  return [u64(value[0], `${what}[0]`), u64(value[1], `${what}[1]`)];
}

function missing(value: unknown, what: string) {
  const { array, coords } = fields(value, what);
  return { array: u32(array, `${what}.array`), coords: u64s(coords, `${what}.coords`) };
}
