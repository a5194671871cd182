// Plans against brute force: every element of every crop is visited, and the plan is played back as an executor would.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dtypes, plan } from "damacy";
import { array, box, request, volume } from "./requests.mjs";

/** A repeatable random integer from `low` to `high`. */
let state = 1;
function random(low, high) {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return low + ((state >>> 8) % (high - low + 1));
}

/** Every index of a box, last axis fastest. */
function indices(shape) {
  return shape.reduce(
    (all, extent) => all.flatMap((head) => Array.from({ length: extent }, (_, i) => [...head, i])),
    [[]],
  );
}

const add = (a, b) => a.map((x, i) => x + b[i]);
const numbers = (list) => Array.from(list, Number);

/** Where a chunk is stored, level by level: the order of reading. */
function place(levels, chunk) {
  let at = chunk.map((c, i) => c * levels.at(-1)[i]);
  return levels.flatMap((level) => {
    const here = at.map((a, i) => Math.floor(a / level[i]));
    at = at.map((a, i) => a % level[i]);
    return here;
  });
}

/** Compares lists of numbers from the front. */
function compare(a, b) {
  const at = a.findIndex((x, i) => x !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
}

function check({ spec, arrays, samples, missing, ratios }, got) {
  const rank = spec.shape.length;
  const levels = arrays.map((a) => a.levels.map(numbers));
  const width = arrays.map((a) => ({ u8: 1, u16: 2, f32: 4, i64: 8 })[a.source]);
  const absent = new Set(missing.map((m) => `${m.array}:${m.coords}`));
  const touched = new Map();
  samples.forEach(({ array, bounds }, s) => {
    for (const index of indices(spec.shape)) {
      const at = add(
        bounds.map(([start]) => start),
        index,
      );
      const coords = at.map((a, i) => Math.floor(a / levels[array].at(-1)[i]));
      const chunk = touched.get(`${array}:${coords}`) ?? { array, coords, users: new Set() };
      touched.set(`${array}:${coords}`, chunk);
      chunk.users.add(s);
    }
  });
  const expected = [...touched.values()].map((chunk) => ({
    ...chunk,
    missing: absent.has(`${chunk.array}:${chunk.coords}`),
    key: [
      Math.floor(Math.min(...chunk.users) / spec.samples),
      chunk.array,
      ...place(levels[chunk.array], chunk.coords),
    ],
  }));
  expected.sort((a, b) => compare(a.key, b.key));

  assert.equal(got.rank, rank);
  assert.equal(got.chunks.length, expected.length);
  const target = samples.map(() => new Map());
  got.chunks.forEach((chunk, c) => {
    const coords = numbers(got.coords.subarray(c * rank, (c + 1) * rank));
    const { firstUse, useCount } = chunk;
    assert.deepEqual(
      [chunk.array, coords, chunk.missing],
      [expected[c].array, expected[c].coords, expected[c].missing],
    );
    assert.deepEqual(new Set(got.uses.subarray(firstUse, firstUse + useCount)), expected[c].users);
    for (let u = firstUse; u < firstUse + useCount; u++) {
      const [from, extent, to] = [got.useSources, got.useExtents, got.useTargets].map((flat) =>
        numbers(flat.subarray(u * rank, (u + 1) * rank)),
      );
      for (const index of indices(extent)) {
        const written = String(add(to, index));
        assert.ok(!target[got.uses[u]].has(written), "written twice");
        const shape = levels[chunk.array].at(-1);
        assert.ok(
          add(from, index).every((x, i) => x < shape[i]),
          "outside the chunk",
        );
        target[got.uses[u]].set(
          written,
          String(
            add(
              add(from, index),
              coords.map((x, i) => x * shape[i]),
            ),
          ),
        );
      }
    }
  });
  samples.forEach(({ bounds }, s) => {
    const wanted = new Map(
      indices(spec.shape).map((index) => [
        String(index),
        String(
          add(
            bounds.map(([start]) => start),
            index,
          ),
        ),
      ]),
    );
    assert.deepEqual([...target[s]].sort(), [...wanted].sort());
  });

  const count = (shape) => shape.reduce((n, extent) => n * extent, 1);
  const size = count(spec.shape);
  const read = expected.filter((chunk) => !chunk.missing);
  const decoded = read.map(({ array }) => count(levels[array].at(-1)) * width[array]);
  const total = (list) => list.reduce((a, b) => a + b, 0);
  const needed = total(samples.map(({ array }) => size * width[array]));
  const output = dtypes.find(({ dtype, fullName }) => [dtype, fullName].includes(spec.dtype)).width;
  const totals = got.totals;
  assert.equal(totals.elements, BigInt(size * samples.length));
  assert.equal(totals.outputBytes, BigInt(size * samples.length * output));
  assert.equal(totals.batchBytes, BigInt(size * spec.samples * output));
  assert.equal(totals.neededBytes, BigInt(needed));
  assert.equal(totals.decodedBytes, BigInt(total(decoded)));
  assert.equal(totals.decodeWaste, total(decoded) / needed);
  assert.equal(typeof totals.memoryBytes, "bigint");
  assert.ok(totals.memoryBytes >= totals.outputBytes);
  if (ratios) {
    const encoded = total(read.map(({ array }, c) => decoded[c] * ratios[array]));
    assert.ok(Math.abs(Number(totals.readBytes) - encoded) <= read.length + 1, `${totals.readBytes}, ${encoded}`);
    assert.ok(Math.abs(totals.readWaste - encoded / needed) < (read.length + 1) / needed);
  } else {
    assert.equal(totals.readBytes, undefined);
    assert.equal(totals.readWaste, undefined);
  }
}

test("300 random windows, against brute force", () => {
  const types = ["uint8", "uint16", "float32", "int64"];
  for (let round = 0; round < 300; round++) {
    const rank = random(0, 3);
    const axes = (low, high) => Array.from({ length: rank }, () => random(low, high));
    const arrays = Array.from({ length: random(1, 3) }, () => {
      const chunk = axes(1, 4);
      const shard = chunk.map((c) => c * random(1, 3));
      return array(axes(6, 12), random(0, 1) ? [shard, chunk] : [chunk], types[random(0, 3)]);
    });
    const spec = {
      samples: random(1, 3),
      shape: axes(1, 5),
      dtype: dtypes[random(0, 9)][random(0, 1) ? "dtype" : "fullName"],
    };
    const samples = Array.from({ length: random(1, 6) }, () => {
      const chosen = random(0, arrays.length - 1);
      return {
        array: chosen,
        bounds: spec.shape.map((extent, i) => {
          const start = random(0, Number(arrays[chosen].shape[i]) - extent);
          return [start, start + extent];
        }),
      };
    });
    const missing = random(0, 2) === 0 ? [{ array: 0, coords: axes(0, 1) }] : [];
    const ratios = random(0, 1) ? arrays.map(() => random(1, 20) / 10) : undefined;
    check({ spec, arrays, samples, missing, ratios }, plan({ spec, arrays, samples, missing, encodedRatios: ratios }));
  }
});

test("numbers, bigints and typed arrays mean the same", () => {
  const expected = plan(request());
  assert.deepEqual(plan(box([0n, 4], [2n, 6n])), expected);
  assert.deepEqual(
    plan(request({ spec: { samples: 1n, shape: BigUint64Array.of(4n, 4n), dtype: "FLOAT32" } })),
    expected,
  );
  const byHand = { ...volume, shape: [20, 30], levels: [[5n, 6]], extra: 1 };
  assert.deepEqual(
    plan(request({ arrays: [byHand], limits: { maxChunks: 5 }, missing: [], encodedRatios: [] })),
    expected,
  );
});

test("positions of 64 bits", () => {
  const far = 2n ** 63n + 5n;
  const huge = { ...volume, shape: [2n ** 64n - 1n, 30] };
  const { coords, useSources } = plan(
    request({
      arrays: [huge],
      samples: [
        {
          array: 0,
          bounds: [
            [far, far + 4n],
            [2, 6],
          ],
        },
      ],
    }),
  );
  assert.deepEqual([coords[0], useSources[0]], [far / 5n, far % 5n]);
});
