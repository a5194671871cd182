// The form's fields -> the component's answers. Nothing is planned, counted or searched here; the advice is checked.

import { documentOf, fullName } from "./arrays.js";
import { isRefusal } from "./component.js";
import { parseExtents } from "./extents.js";
import { randomCrops } from "./random.js";

/** Limits of one plan on this page: what a phone answers at once. */
export const LIMITS = { memoryBytes: 64 << 20, maxChunks: 1 << 17 };
/** Samples of one window. */
export const MOST_SAMPLES = 4096;
/** Given crops that the component's advice looks at. */
const ADVISED_CROPS = 64;
/** What a chunk costs beside its decoded bytes, and what advice has to save: as in docs/cost-model.md. */
const CHUNK_OVERHEAD_BYTES = 16 << 10;
const WORTH = 0.05;

/** A sentence about one field, for the place beside it. */
export class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

function attempt(field, action) {
  try {
    return action();
  } catch (error) {
    if (error instanceof FieldError || error.status === "INTERNAL") throw error;
    throw new FieldError(field, error.message);
  }
}

function wholeNumber(state, field, what, low, high) {
  const text = state[field].trim().replaceAll("_", "");
  if (/^\d{1,9}$/.test(text) && Number(text) >= low && Number(text) <= high) return Number(text);
  throw new FieldError(
    field,
    `${what}: “${state[field].slice(0, 24)}” given; a whole number from ${low} to ${high} is accepted`,
  );
}

function extentsOf(state, field, what, rank) {
  const extents = attempt(field, () => parseExtents(state[field], what));
  if (rank !== undefined && extents.length !== rank) {
    throw new FieldError(
      field,
      `${what} has ${extents.length} axes, the array has ${rank}: give one number for each axis`,
    );
  }
  return extents;
}

/** State -> a request in checked numbers. Throws FieldError. */
export function readFields(state, component) {
  const shape = extentsOf(state, "shape", "Array shape");
  const chunk = extentsOf(state, "chunk", "Chunk shape", shape.length);
  const shards = state.shard.split("/").filter((text) => text.trim());
  const levels = [...shards.map((text) => extentsOf({ shard: text }, "shard", "Shard shape", shape.length)), chunk];
  const array = parse(component, { type: state.type, shape, levels });
  const crop = extentsOf(state, "crop", "Crop shape", shape.length);
  for (const [axis, extent] of crop.entries()) {
    if (extent >= 1n && extent <= shape[axis]) continue;
    if (shape[axis] === 0n) throw new FieldError("shape", `Array shape: axis ${axis} has no elements, so no crop fits`);
    throw new FieldError("crop", `Crop shape: ${extent} on axis ${axis} given; the array allows 1 to ${shape[axis]}`);
  }
  const batch = wholeNumber(state, "batch", "Samples a batch", 1, MOST_SAMPLES);
  const window = state.mode !== "random" ? 1 : wholeNumber(state, "window", "Look-ahead window", 1, MOST_SAMPLES);
  if (batch * window > MOST_SAMPLES) {
    throw new FieldError(
      "window",
      `${window} batches of ${batch} are ${batch * window} samples; this page plans at most ${MOST_SAMPLES}`,
    );
  }
  const samples =
    state.mode === "random"
      ? randomCrops(shape, crop, batch * window, state.seed.trim())
      : [givenCrop(state, shape, crop)];
  return { array, shape, levels, crop, batch, samples, ratio: ratioOf(state), output: state.batchType };
}

/** Parses the fields' document; a refusal is about the field that its path leads to. */
function parse(component, fields) {
  try {
    return component.parse("v3", documentOf(fields));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const level = (error.path?.match(/\/codecs\/\d+/g) ?? []).length; // nested codecs: one level of shards deeper each
    const [field, what] =
      !error.path || error.path.startsWith("/shape")
        ? ["shape", "Array shape"]
        : level < fields.levels.length - 1
          ? ["shard", "Shard shape"]
          : ["chunk", "Chunk shape"];
    const axis = /\/(\d+)$/.exec(error.path ?? "")?.[1];
    throw new FieldError(field, `${what}${axis === undefined ? "" : `, axis ${axis}`}: ${error.message}`);
  }
}

function givenCrop(state, shape, crop) {
  const start = extentsOf(state, "start", "Crop start", shape.length);
  return start.map((at, axis) => {
    if (at + crop[axis] > shape[axis]) {
      throw new FieldError(
        "start",
        `Crop start: ${at} on axis ${axis} given; 0 to ${shape[axis] - crop[axis]} keeps it inside ${shape[axis]}`,
      );
    }
    return [at, at + crop[axis]];
  });
}

function ratioOf(state) {
  const text = state.ratio.trim().replace(/%$/, "");
  if (!text) return undefined;
  const ratio = Number(text) / (state.ratio.includes("%") ? 100 : 1);
  if (ratio > 0 && ratio <= 100) return ratio;
  throw new FieldError(
    "ratio",
    `Encoded size: “${state.ratio.slice(0, 24)}” given; a ratio above 0 such as 0.4 or 40% is accepted, or nothing`,
  );
}

const specOf = (fields) => ({ samples: fields.batch, shape: fields.crop, dtype: fields.output });
const samplesOf = (fields) => fields.samples.map((bounds) => ({ array: 0, bounds }));

/** Which chunks the crops touch, for the drawing: the component's plan. */
export function plan(component, fields) {
  return component.plan({ spec: specOf(fields), arrays: [fields.array], samples: samplesOf(fields), limits: LIMITS });
}

/** What the crops cost in one window, with other chunk shapes where `levels` are given: the component's estimate. */
export function price(component, fields, { levels = fields.array.levels, ...more } = {}) {
  return component.estimate({
    spec: specOf(fields),
    arrays: [{ ...fields.array, levels }],
    crops: { tag: "boxes", val: samplesOf(fields) },
    encoded: fields.ratio === undefined ? [] : [{ tag: "ratio", val: fields.ratio }],
    window: Math.max(fields.samples.length, fields.batch),
    limits: LIMITS,
    ...more,
  });
}

/** Bytes of one batch in each output type: [{ dtype, fullName, bytes }], by the component. */
export function batchBytes(component, fields) {
  const { outputBytes } = component.estimate({
    spec: specOf(fields),
    arrays: [fields.array],
    crops: { tag: "uniform" },
    window: fields.batch, // one batch, whatever its crops
    limits: LIMITS,
  });
  return component.outputs.map((output, value) => ({ ...output, bytes: outputBytes[value] }));
}

const cost = ({ decodedBytes, chunks }) => Number(decodedBytes) + CHUNK_OVERHEAD_BYTES * chunks;

/** The figures of an advised layout by the names that an estimate has for them. */
const figuresOf = ({ chunks, chunkBytes, decodeWaste }) => ({
  chunks,
  decodedBytes: BigInt(chunks) * chunkBytes, // of given crops: whole numbers of chunks
  largestChunkBytes: chunkBytes,
  decodeWaste,
});

/**
 * The component's advice on the layout: { levels, report, now, crops }, what the advised one and the current one cost for so
 * many crops: for all of them, or for those that the component looked at where the limits do not allow more. Undefined where
 * the advised one does not save 5 %.
 */
export function advice(component, fields) {
  const { layout, ...now } = price(component, fields, { adviseLayout: 0 });
  const { best, current } = layout;
  const { levels } = best;
  const text = (levels) => levels.map(String).join("/");
  if (text(levels) === text(current.levels)) return undefined;
  let report;
  try {
    report = price(component, fields, { levels });
  } catch (error) {
    if (error.status !== "BUDGET") throw error;
    const crops = Math.min(ADVISED_CROPS, fields.samples.length);
    return { levels, report: figuresOf(best), now: figuresOf(current), crops };
  }
  // What is best for the first crops may cost more for all of them, which share chunks.
  if (cost(report) > (1 - WORTH) * cost(now)) return undefined;
  return { levels, report, now, crops: fields.samples.length };
}

/** The Python that asks for the same batches. */
export function python(fields) {
  const shape = fields.crop.length === 1 ? `${fields.crop[0]},` : fields.crop.join(", ");
  return `damacy.BatchSpec(samples=${fields.batch}, shape=(${shape}), dtype="${fullName(fields.output)}")`;
}
