// What the component should answer, counted one element at a time, and the page's texts as numbers.

import { randomCrops } from "../src/random.js";

/** "1, 2" -> [1n, 2n]. */
export const big = (list) => list.split(",").map((n) => BigInt(n.trim()));
/** The product of numbers. */
export const product = (list) => list.reduce((a, b) => a * b, 1);

/** The chunks that the crops touch, found from every element's place: exact, and slow. */
export function touched(chunk, crops) {
  const unique = new Set();
  let uses = 0;
  for (const bounds of crops) {
    const mine = new Set();
    const walk = (axis, key) => {
      if (axis === bounds.length) return mine.add(key);
      for (let at = bounds[axis][0]; at < bounds[axis][1]; at += 1)
        walk(axis + 1, `${key},${Math.floor(at / chunk[axis])}`);
    };
    walk(0, "");
    uses += mine.size;
    for (const key of mine) unique.add(key);
  }
  return { chunks: unique.size, uses };
}

/** "64 KiB" -> 65536, as precisely as it was written. */
export const size = (text) => {
  const [number, unit] = text.replace("chosen", "").trim().split(" ");
  return Number(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(unit);
};

/** The crops of the page for a seed, as numbers. */
export const cropsOf = (shape, crop, count, seed) =>
  randomCrops(big(shape), big(crop), count, seed).map((bounds) => bounds.map((one) => one.map(Number)));
