// The advice for more crops than the component looks at, against chunks counted crop by crop.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { load } from "../../js/dist/load.js";
import { advice, price, readFields } from "../src/planning.js";
import { DEFAULTS } from "../src/state.js";
import { cropsOf, product } from "./counting.mjs";

const wasm = await readFile(new URL("../../js/dist/component/component.core.wasm", import.meta.url));
const { parseMetadata, plan, estimate } = await load({ wasm });
const component = { parse: (format, document) => parseMetadata(document, { format }), plan, estimate };

const CROPS = 4096; // 64 batches of 64
const read = (fields) => readFields({ ...DEFAULTS, shard: "", batch: "64", window: "64", ...fields }, component);
const advised = (fields) => advice(component, read(fields));
const crops = ({ shape, crop, seed = "1" }, count = CROPS) => cropsOf(shape, crop, CROPS, seed).slice(0, count);
const numbers = (text) => text.split(",").map(Number);

/** Different chunks that crops touch. */
function different(chunk, crops) {
  const seen = new Set();
  for (const bounds of crops) {
    let keys = [""];
    for (const [axis, [start, stop]] of bounds.entries()) {
      const [first, last] = [Math.floor(start / chunk[axis]), Math.floor((stop - 1) / chunk[axis])];
      const places = Array.from({ length: last - first + 1 }, (_, i) => first + i);
      keys = keys.flatMap((key) => places.map((place) => `${key},${place}`));
    }
    for (const key of keys) seen.add(key);
  }
  return seen.size;
}
const cost = (chunk, width, crops) => different(chunk, crops) * (product(chunk) * width + 16384);

test("advice that holds for the first 64 crops alone is not given", () => {
  for (const [fields, worse] of [
    [{ shape: "1024,1024", chunk: "256,512", crop: "16,16" }, [128, 64]],
    [{ shape: "512,512,512", chunk: "128,128,128", crop: "16,16,16" }, [32, 16, 16]],
  ]) {
    const now = numbers(fields.chunk);
    const [few, all] = [crops(fields, 64), crops(fields)];
    const { best } = price(component, read(fields), { adviseLayout: 0 }).layout;
    assert.deepEqual([...best.levels.at(-1)].map(Number), worse);
    assert.ok(cost(worse, 2, few) < 0.95 * cost(now, 2, few) && cost(worse, 2, all) > cost(now, 2, all));
    assert.equal(advised(fields), undefined);
  }
});

test("advice that holds for all crops has their figures", () => {
  for (const fields of [
    { type: "u8", shape: "65536,2048,2048", chunk: "64,1024,1024", crop: "1,1024,1024" },
    { type: "u8", shape: "64,60,48", chunk: "1,60,48", crop: "12,20,16" },
  ]) {
    const given = advised(fields);
    const [chunk, now, all] = [[...given.levels.at(-1)].map(Number), numbers(fields.chunk), crops(fields)];
    assert.equal(given.crops, CROPS);
    for (const [report, shape] of [
      [given.report, chunk],
      [given.now, now],
    ]) {
      assert.equal(report.chunks, different(shape, all));
      assert.equal(report.decodedBytes, BigInt(report.chunks * product(shape)));
    }
    assert.ok(cost(chunk, 1, all) <= 0.95 * cost(now, 1, all));
  }
});

test("advice that is beyond the limits with all crops has the figures of the first 64", () => {
  const fields = { type: "u16", shape: "256,4096,4096", chunk: "64,2048,2048", crop: "1,2048,2048" };
  const given = advised(fields);
  const chunk = [...given.levels.at(-1)].map(Number);
  assert.throws(() => price(component, read(fields), { levels: given.levels }), { status: "BUDGET" });
  assert.equal(given.crops, 64);
  const first = crops(fields, 64);
  const needed = 64 * product(numbers(fields.crop));
  for (const [report, shape] of [
    [given.report, chunk],
    [given.now, numbers(fields.chunk)],
  ]) {
    const chunks = different(shape, first);
    assert.deepEqual(
      [report.chunks, report.decodedBytes, report.largestChunkBytes],
      [chunks, BigInt(chunks * product(shape) * 2), BigInt(product(shape) * 2)],
    );
    assert.ok(Math.abs(report.decodeWaste / ((chunks * product(shape)) / needed) - 1) < 1e-9);
  }
  assert.ok(cost(chunk, 2, first) <= 0.95 * cost(numbers(fields.chunk), 2, first));
});

test("what the current layout is refused for is not taken for the advice's", () => {
  const fields = { shape: "512,512,512", chunk: "1,512,512", crop: "64,64,64" };
  assert.throws(() => advised(fields), { status: "BUDGET" });
});
