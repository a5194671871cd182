// What planning and pricing are both asked with, checked.
import type * as planner from "./component/interfaces/damacy-core-planner.js";
import { describe, fields, list, optional, u32, u64, u64s } from "./check.js";
import { invalid } from "./errors.js";
import type { Names } from "./names.js";

const LIMITS = ["memoryBytes", "maxChunks"] as const;

/** The batch. */
export function batchSpec(value: unknown, names: Names): planner.BatchSpec {
  const spec = fields(value, "spec");
  return {
    samples: u64(spec["samples"], "spec.samples"),
    shape: u64s(spec["shape"], "spec.shape"),
    dtype: names.dtype(spec["dtype"], "spec.dtype"),
  };
}

/** The limits, or their defaults. */
export function planLimits(value: unknown): planner.Limits {
  const { memoryBytes = 64 << 20, maxChunks = 1 << 20 } = optional(value ?? {}, "limits", LIMITS);
  return { memoryBytes: u64(memoryBytes, "limits.memoryBytes"), maxChunks: u64(maxChunks, "limits.maxChunks") };
}

/** A crop. */
export function sample(value: unknown, what: string): planner.Sample {
  const { array, bounds } = fields(value, what);
  return { array: u32(array, `${what}.array`), bounds: list(bounds, `${what}.bounds`, interval) };
}

function interval(value: unknown, what: string): [bigint, bigint] {
  if (!Array.isArray(value) || value.length !== 2) {
    throw invalid(`${what} is ${describe(value)}; accepted is [start, stop]`);
  }
  return [u64(value[0], `${what}[0]`), u64(value[1], `${what}[1]`)];
}
