// Which other chunk shapes the planner is asked about. No browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_CANDIDATES, candidates } from "../src/candidates.js";

const axis = (options) => candidates({ width: 1, least: 1n, ...options }).map(([extent]) => Number(extent));
const asked = (list) => list.sort((a, b) => a - b);

test("an axis is halved, quartered, doubled, or cut to the crop or its half", () => {
  assert.deepEqual(asked(axis({ shape: [1000n], levels: [[64n]], crop: [100n] })), [16, 32, 50, 100, 128]);
  assert.deepEqual(
    asked(axis({ shape: [100n], levels: [[64n]], crop: [100n] })),
    [16, 32, 50, 100],
    "none past the array",
  );
  assert.deepEqual(asked(axis({ shape: [9n], levels: [[1n]], crop: [1n] })), [2], "none of no elements");
});

test("in shards, only what divides the shard", () => {
  assert.deepEqual(asked(axis({ shape: [1000n], levels: [[128n], [64n]], crop: [100n] })), [16, 32, 128]);
});

test("none under the least bytes, unless it holds the whole array", () => {
  const options = { shape: [1000n], levels: [[64n]], crop: [100n], width: 4 };
  assert.deepEqual(asked(axis({ ...options, least: 256n })), [100, 128]);
  assert.deepEqual(asked(axis({ shape: [10n], levels: [[5n]], crop: [10n], least: 1000n })), [10]);
});

test("many axes do not ask without end", () => {
  const shape = Array(8).fill(1000n);
  const all = candidates({ shape, levels: [Array(8).fill(64n)], crop: Array(8).fill(100n), width: 1, least: 1n });
  assert.ok(all.length > MOST_CANDIDATES / 4 && all.length <= MOST_CANDIDATES);
  assert.equal(new Set(all.map(String)).size, all.length);
});
