// Prices against brute force: every element of every crop, every start, every chunk shape; and against figures by hand.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DamacyError, dtypes, estimate, plan } from "damacy";
import { array } from "./requests.mjs";

const WIDTHS = [4, 2, 1, 2, 4, 8, 1, 2, 4, 8]; // of the output types, by value
const product = (list) => list.reduce((a, b) => a * b, 1);
const near = (given, wanted, what) =>
  assert.ok(Math.abs(given - wanted) <= 1e-9 * Math.abs(wanted), `${what}: ${given}, by brute force ${wanted}`);

/** All lists of one number of each range. */
const all = (ranges) => ranges.reduce((heads, range) => heads.flatMap((head) => range.map((n) => [...head, n])), [[]]);
const range = (start, stop, step = 1) =>
  Array.from({ length: Math.ceil((stop - start) / step) }, (_, i) => start + i * step);

/** The blocks of a shape that hold an element of a crop, element by element. */
function touched(start, extent, block) {
  const elements = all(start.map((s, axis) => range(s, s + extent[axis])));
  return new Set(elements.map((at) => String(at.map((x, axis) => Math.floor(x / block[axis])))));
}
const union = (sets) => new Set(sets.flatMap((set) => [...set]));

let state = 9;
function random(low, high) {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return low + ((state >>> 8) % (high - low + 1));
}

const SHAPE = [9, 14];
const [CHUNK, SHARD, EXTENT] = [
  [2, 3],
  [4, 6],
  [3, 4],
];
const spec = (samples, dtype = "f32", shape = EXTENT) => ({ samples, shape, dtype });
const corner = () => SHAPE.map((length, axis) => random(0, length - EXTENT[axis]));
const boxOf = (start) => ({ array: 0, bounds: start.map((s, axis) => [s, s + EXTENT[axis]]) });

test("given boxes are priced exactly, window by window", () => {
  for (const window of [4, 9, 64]) {
    const corners = Array.from({ length: 21 }, corner);
    const cost = estimate({
      spec: spec(4, "int64"),
      arrays: [array(SHAPE, [SHARD, CHUNK])],
      crops: { tag: "boxes", val: corners.map(boxOf) },
      encoded: [{ tag: "ratio", val: 0.25 }],
      window,
    });
    const size = Math.max(1, Math.floor(window / 4)) * 4;
    const windows = range(0, 21, size).map((at) => corners.slice(at, at + size));
    const different = (block) =>
      windows.reduce((n, starts) => n + union(starts.map((s) => touched(s, EXTENT, block))).size, 0);
    const chunks = different(CHUNK);
    assert.equal(cost.certainty, "exact");
    assert.deepEqual([cost.samples, cost.windows], [21n, BigInt(windows.length)]);
    assert.equal(
      cost.uses,
      corners.reduce((n, s) => n + touched(s, EXTENT, CHUNK).size, 0),
    );
    assert.deepEqual([cost.chunks, cost.objects], [chunks, different(SHARD)]);
    const [needed, decoded] = [21 * 12 * 2, chunks * 12];
    assert.deepEqual(
      [cost.elements, cost.neededBytes, cost.decodedBytes, cost.largestChunkBytes],
      [252n, BigInt(needed), BigInt(decoded), 12n],
    );
    assert.equal(cost.decodeWaste, decoded / needed);
    assert.equal(cost.useWaste, (cost.uses * 12) / needed);
    assert.ok(Math.abs(Number(cost.readBytes) - decoded / 4) <= windows.length);
    assert.equal(cost.readWaste, Number(cost.readBytes) / needed);
    assert.deepEqual(
      [...cost.outputBytes],
      WIDTHS.map((width) => BigInt(252 * width)),
    );
    assert.deepEqual(
      dtypes.map(({ width }) => width),
      WIDTHS,
    );
    assert.equal(cost.host.batchBytes, BigInt(4 * 12 * 8));
    assert.equal(cost.layout, undefined);
    assert.equal(cost.lookAhead, undefined);
  }
});

test("one window of boxes costs what its plan does", () => {
  const request = { spec: spec(4), arrays: [array(SHAPE, [CHUNK], "float32")] };
  const boxes = Array.from({ length: 16 }, () => boxOf(corner()));
  const cost = estimate({ ...request, crops: { tag: "boxes", val: boxes } });
  const { chunks, uses, totals } = plan({ ...request, samples: boxes });
  assert.deepEqual([cost.chunks, cost.uses], [chunks.length, uses.length]);
  for (const name of ["elements", "neededBytes", "decodedBytes", "largestChunkBytes", "decodeWaste"])
    assert.equal(cost[name], totals[name], name);
  assert.equal(cost.outputBytes[0], totals.outputBytes);
});

test("drawn crops cost the average over all draws", () => {
  for (const [crops, step] of [
    [{ tag: "uniform" }, [1, 1]],
    [{ tag: "grid", val: [2, 5] }, [2, 5]],
    [{ tag: "grid", val: [] }, EXTENT],
  ]) {
    for (const window of [4, 32]) {
      const cost = estimate({ spec: spec(4), arrays: [array(SHAPE, [CHUNK])], crops, window });
      const starts = all(SHAPE.map((length, axis) => range(0, length - EXTENT[axis] + 1, step[axis])));
      const counts = new Map();
      for (const start of starts)
        for (const chunk of touched(start, EXTENT, CHUNK)) counts.set(chunk, (counts.get(chunk) ?? 0) + 1);
      const chances = [...counts.values()].map((n) => n / starts.length);
      assert.equal(cost.certainty, "expected");
      near(cost.uses, window * chances.reduce((a, b) => a + b), "uses");
      const different = chances.reduce((n, chance) => n + 1 - (1 - chance) ** window, 0);
      near(cost.chunks, different, "chunks");
      assert.equal(cost.decodedBytes, BigInt(Math.round(different * 12)));
    }
  }
});

test("weights choose the array, sizes of single chunks count, missing ones are free", () => {
  const arrays = [array(SHAPE, [SHAPE], "uint8"), array(SHAPE, [[1, 1]], "uint8")];
  const both = estimate({ spec: spec(1), arrays, crops: { tag: "uniform" }, weights: [3, 1n], window: 1 });
  near(both.uses, 0.75 * 1 + 0.25 * 12, "uses");
  const sizes = range(0, 25); // 5 x 5 chunks, the first one missing
  const corners = Array.from({ length: 8 }, corner);
  const known = (val) =>
    estimate({
      spec: spec(8),
      arrays: [array(SHAPE, [CHUNK])],
      crops: { tag: "boxes", val: corners.map(boxOf) },
      encoded: [{ tag: "chunks", val }],
    });
  const chunks = union(corners.map((s) => touched(s, EXTENT, CHUNK)));
  const bytes = [...chunks].reduce((n, at) => n + sizes[5 * at.split(",")[0] + +at.split(",")[1]], 0);
  assert.equal(known(sizes).readBytes, BigInt(bytes));
  assert.equal(known(BigUint64Array.from(sizes, BigInt)).decodedBytes, BigInt(12 * (chunks.size - chunks.has("0,0"))));
});

test("the worked example of docs/cost-model.md", () => {
  const cost = estimate({
    spec: spec(4, "f32", [6]),
    arrays: [array([20], [[4]])],
    crops: { tag: "uniform" },
    window: 8,
    workers: 2,
  });
  const page = readFileSync(new URL("../../../docs/cost-model.md", import.meta.url), "utf8");
  for (const line of [
    `touched a crop     = (4 + 8 + 9 + 8 + 4) / 15 = ${(cost.uses / 8).toFixed(2)}`,
    `(1 - (6/15)^8) = ${cost.chunks.toFixed(3)}`,
    `needed             = 8 x 6 x 2 = ${cost.neededBytes}`,
    `decoded            = 4.828 x 4 x 2 = ${cost.decodedBytes}`,
    `decode waste       = ${cost.decodedBytes} / ${cost.neededBytes} = ${cost.decodeWaste.toFixed(2)}`,
    `if every use were  = 8 x 2.20 x 8 / 96 = ${cost.useWaste.toFixed(2)}`,
    `batch              = 4 x 6 x 4 = ${cost.host.batchBytes}`,
    `decode             = 8 + 9 + 65,536 + 1,048,576 = ${cost.host.decodeBytes}`,
    `plans              = 2 x (5 x 24 + 18 x 28) = ${cost.host.planBytes}`,
    `host               = 4 x 96 + 2 x 1114129 + 1248 = ${cost.host.totalBytes}`,
  ]) {
    assert.ok(page.includes(line), line);
  }
  assert.ok(page.includes(` = ${cost.device.totalBytes}`));
});

test("the advised layout costs no more than any shape of powers of two, and is priced right", () => {
  const [shape, extent, window] = [[512, 512], [9, 200], 16];
  /** Chunks of a shape that a window touches, on average: a chunk's chance is the product of its axes'. */
  const different = (chunk) => {
    const chances = shape.map((length, axis) => {
      const starts = length - extent[axis] + 1;
      return range(0, length, chunk[axis]).map((at) => {
        const from = Math.max(0, at - extent[axis] + 1);
        return (Math.min(starts - 1, at + chunk[axis] - 1) - from + 1) / starts;
      });
    });
    return chances[0].reduce((n, p) => n + chances[1].reduce((m, q) => m + 1 - (1 - p * q) ** window, 0), 0);
  };
  const price = (chunk) => different(chunk) * (2 * product(chunk) + 16384);
  const { layout } = estimate({
    spec: spec(8, "f32", extent),
    arrays: [array(shape, [[128, 128]])],
    crops: { tag: "uniform" },
    window,
    adviseLayout: 0,
  });
  const powers = range(0, 10).map((exponent) => 2 ** exponent);
  const allowed = all([powers, powers]).filter((chunk) => product(chunk) >= 8192);
  assert.ok(allowed.length > 10);
  const best = [...layout.best.levels.at(-1)].map(Number);
  assert.notDeepEqual(best, [128, 128]);
  for (const chunk of allowed) assert.ok(price(best) <= price(chunk) * (1 + 1e-9), `${best}, ${chunk}`);
  for (const { levels, chunkBytes, chunks, decodeWaste } of [layout.current, layout.best]) {
    const chunk = [...levels.at(-1)].map(Number);
    near(chunks, different(chunk), "chunks");
    assert.equal(chunkBytes, BigInt(2 * product(chunk)));
    near(decodeWaste, (different(chunk) * product(chunk)) / (window * product(extent)), "waste");
  }
});

test("the advised look-ahead has the waste of each window", () => {
  const request = { spec: spec(4), arrays: [array(SHAPE, [CHUNK])], crops: { tag: "uniform" } };
  const { lookAhead } = estimate({ ...request, adviseLookAhead: true });
  assert.ok(lookAhead.steps.length > 3 && lookAhead.enough <= lookAhead.most);
  assert.equal(lookAhead.steps.at(-1).samples, lookAhead.most);
  // `steps` double from one batch on.
  assert.deepEqual(lookAhead.steps.slice(0, 3).map(({ samples }) => samples), [4n, 8n, 16n]);
  for (const { samples, decodeWaste } of lookAhead.steps)
    near(decodeWaste, estimate({ ...request, window: samples }).decodeWaste, `${samples} samples`);
});

test("jobs that are refused, with what is accepted", () => {
  const good = { spec: spec(4), arrays: [array(SHAPE, [CHUNK])], crops: { tag: "uniform" } };
  estimate(good);
  estimate({ ...good, crops: { tag: "uniform", val: undefined }, encoded: [{ tag: "unknown", val: undefined }] });
  for (const [changed, status, ...words] of [
    [{ window: 0 }, "INVAL", "the window has 0 samples", "at least 1"],
    [{ workers: -1 }, "INVAL", "workers is -1", "accepted"],
    [{ window: 1.5 }, "INVAL", "window is 1.5", "accepted"],
    [{ memoryBytes: "1" }, "INVAL", 'memoryBytes is "1"', "accepted"],
    [{ windows: 4 }, "INVAL", '"windows"', "accepted are spec, arrays, crops"],
    [{ crops: undefined }, "INVAL", "crops is undefined", "accepted"],
    [{ crops: "uniform" }, "INVAL", 'crops is "uniform"', "an object"],
    [{ crops: { tag: "all" } }, "INVAL", 'crops.tag is "all"', '"boxes", "uniform", "grid"'],
    [{ crops: { tag: "grid" } }, "INVAL", "crops.val is undefined", "an array"],
    [{ crops: { tag: "grid", val: [1] } }, "INVAL", "stride"],
    [{ crops: { tag: "boxes", val: [{ array: 0, bounds: [[0, 3]] }] } }, "INVAL"],
    [{ crops: { tag: "boxes", val: [boxOf([7, 0])] } }, "INVAL", "10", "9"],
    [{ weights: [1, 2] }, "INVAL", "2 weights", "1 arrays"],
    [{ encoded: [{ tag: "ratio", val: -1 }] }, "INVAL", "encoded[0].val is -1", "accepted"],
    [{ encoded: [{ tag: "ratio", val: 0 }] }, "INVAL", "encoded[0].val is 0", "finite numbers above 0"],
    [{ encoded: [{ tag: "unknown", val: 0.5 }] }, "INVAL", "encoded[0].val is 0.5", '"unknown" is none'],
    [{ crops: { tag: "uniform", val: [3, 4] } }, "INVAL", "crops.val is an array of 2", '"uniform" is none'],
    [{ encoded: [{ tag: "sizes" }] }, "INVAL", "encoded[0].tag", "chunks"],
    [{ encoded: [{ tag: "chunks", val: [1, 2] }] }, "INVAL", "2 encoded sizes"],
    [{ adviseLayout: 1 }, "INVAL", "array 1 of 1"],
    [{ adviseLayout: -1 }, "INVAL", "adviseLayout is -1", "accepted"],
    [{ adviseLookAhead: 1 }, "INVAL", "adviseLookAhead is 1", "true and false"],
    [{ spec: spec(4, "f32", [3]) }, "RANK"],
    [{ arrays: [array(SHAPE, [CHUNK], "float64")] }, "DTYPE", "float64"],
    [{ limits: { maxChunks: 1 } }, "BUDGET"],
  ]) {
    assert.throws(
      () => estimate({ ...good, ...changed }),
      (error) => {
        assert.ok(error instanceof DamacyError, String(error?.stack));
        assert.equal(error.status, status, error.message);
        for (const word of words) assert.ok(error.message.includes(word), `"${error.message}" lacks "${word}"`);
        return true;
      },
    );
  }
});
