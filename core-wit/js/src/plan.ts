// A window of samples -> its plan.
import type * as planner from "./component/interfaces/damacy-core-planner.js";
import { fields, list, optional, ratio, u32, u64s } from "./check.js";
import type { Core } from "./core.js";
import { arrayInput } from "./metadata.js";
import type { Names } from "./names.js";
import { batchSpec, planLimits, sample } from "./request.js";
import type { Plan } from "./types.js";

const REQUEST = ["spec", "arrays", "samples", "missing", "encodedRatios", "limits"] as const;

/** Makes `plan` of a component. */
export function makePlan(core: Core, names: Names) {
  return (value: unknown): Plan => {
    const request = optional(value, "the request", REQUEST);
    const checked: planner.Request = {
      spec: batchSpec(request["spec"], names),
      limits: planLimits(request["limits"]),
      arrays: list(request["arrays"], "arrays", (array, what) => arrayInput(array, what, names)),
      samples: list(request["samples"], "samples", sample),
      missing: list(request["missing"] ?? [], "missing", missing),
      encodedRatios: Float64Array.from(list(request["encodedRatios"] ?? [], "encodedRatios", ratio)),
    };
    return core.call(({ planner }) => planner.window(checked));
  };
}

function missing(value: unknown, what: string): planner.MissingChunk {
  const { array, coords } = fields(value, what);
  return { array: u32(array, `${what}.array`), coords: u64s(coords, `${what}.coords`) };
}
