// A job -> what it costs, and advice.
import type * as cost from "./component/interfaces/damacy-core-cost.js";
import { describe, fields, list, oneOf, optional, ratio, truth, u32, u64, u64s } from "./check.js";
import type { Core } from "./core.js";
import { invalid } from "./errors.js";
import { arrayInput } from "./metadata.js";
import type { Names } from "./names.js";
import { batchSpec, planLimits, sample } from "./request.js";
import type { Estimate } from "./types.js";

const REQUEST = [
  "spec",
  "arrays",
  "crops",
  "weights",
  "encoded",
  "window",
  "workers",
  "memoryBytes",
  "chunkCacheBytes",
  "limits",
  "adviseLayout",
  "adviseLookAhead",
] as const;

/** Makes `estimate` of a component. */
export function makeEstimate(core: Core, names: Names) {
  return (value: unknown): Estimate => {
    const request = optional(value, "the request", REQUEST);
    const { window = 64, workers = 1, memoryBytes = 1 << 30, chunkCacheBytes = 0, adviseLayout } = request;
    const checked: cost.Request = {
      spec: batchSpec(request["spec"], names),
      limits: planLimits(request["limits"]),
      arrays: list(request["arrays"], "arrays", (array, what) => arrayInput(array, what, names)),
      crops: crops(request["crops"]),
      weights: u64s(request["weights"] ?? [], "weights"),
      encoded: list(request["encoded"] ?? [], "encoded", encoded),
      window: u64(window, "window"),
      workers: u64(workers, "workers"),
      memoryBytes: u64(memoryBytes, "memoryBytes"),
      chunkCacheBytes: u64(chunkCacheBytes, "chunkCacheBytes"),
      adviseLookAhead: truth(request["adviseLookAhead"] ?? false, "adviseLookAhead"),
      ...(adviseLayout === undefined ? {} : { adviseLayout: u32(adviseLayout, "adviseLayout") }),
    };
    return core.call(({ cost }) => cost.estimate(checked));
  };
}

/** Refuses a value beside a tag that has none: it would be ignored. */
function none(val: unknown, what: string, tag: string): void {
  if (val === undefined) return;
  throw invalid(`${what}.val is ${describe(val)}; accepted beside the tag "${tag}" is none`);
}

function crops(value: unknown): cost.Crops {
  const { tag, val } = fields(value, "crops");
  switch (oneOf(tag, "crops.tag", ["boxes", "uniform", "grid"] as const)) {
    case "boxes":
      return { tag: "boxes", val: list(val, "crops.val", sample) };
    case "uniform":
      none(val, "crops", "uniform");
      return { tag: "uniform" };
    case "grid":
      return { tag: "grid", val: u64s(val, "crops.val") };
  }
}

function encoded(value: unknown, what: string): cost.Encoded {
  const { tag, val } = fields(value, what);
  switch (oneOf(tag, `${what}.tag`, ["unknown", "ratio", "chunks"] as const)) {
    case "unknown":
      none(val, what, "unknown");
      return { tag: "unknown" };
    case "ratio":
      return { tag: "ratio", val: ratio(val, `${what}.val`) };
    case "chunks":
      return { tag: "chunks", val: u64s(val, `${what}.val`) };
  }
}
