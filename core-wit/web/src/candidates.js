// An array's chunk shape and the crop shape -> other chunk shapes worth asking the planner about.

import { chunkBytes } from "./arrays.js";

/** No more plans than this for one answer. */
export const MOST_CANDIDATES = 256;

/**
 * Chunk shapes from each axis kept, halved, quartered, doubled, or cut to the crop or its half; in shards, only those
 * that divide the shard. Shapes of fewer decoded bytes than `least` are left out, unless they hold the whole array.
 */
export function candidates({ shape, levels, crop, width, least }) {
  const chunk = levels.at(-1);
  const shard = levels.at(-2);
  const choices = shape.map((extent, axis) => choicesOf(extent, chunk[axis], crop[axis], shard?.[axis]));
  limit(choices);
  return choices
    .reduce((shapes, axis) => shapes.flatMap((shape) => axis.map((extent) => [...shape, extent])), [[]])
    .filter((candidate) => String(candidate) !== String(chunk))
    .filter(
      (candidate) => chunkBytes(candidate, width) >= least || candidate.every((extent, axis) => extent >= shape[axis]),
    );
}

/** Most wanted first, so that a limit drops the least wanted. */
function choicesOf(extent, chunk, crop, shard) {
  const wanted = [chunk, crop, chunk / 2n, chunk * 2n, crop / 2n, chunk / 4n];
  const unique = [...new Set(wanted)].filter((one) => one >= 1n && (one <= extent || one === chunk));
  return shard === undefined ? unique : unique.filter((one) => shard % one === 0n);
}

/** Shortens the longest list, first axes first, until the shapes are few enough. */
function limit(choices) {
  while (choices.reduce((n, axis) => n * axis.length, 1) > MOST_CANDIDATES) {
    const longest = Math.max(...choices.map((axis) => axis.length));
    choices.find((axis) => axis.length === longest).pop();
  }
}
