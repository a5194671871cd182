// Conversion against the judged vectors and the exhaustive sums, which share no code with any implementation.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { convert, dtypes, sources } from "damacy";

const vectors = new URL("../../../tests/vectors/", import.meta.url);
const pairs = readFileSync(new URL("pairs.jsonl", vectors), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const sums = JSON.parse(readFileSync(new URL("exhaustive.json", vectors), "utf8"));
const width = Object.fromEntries(sources.map(({ source, width }) => [source, width]));
const outputWidth = Object.fromEntries(dtypes.map(({ dtype, width }) => [dtype, width]));

const SOURCE_ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  u64: BigUint64Array,
  i8: Int8Array,
  i16: Int16Array,
  i32: Int32Array,
  i64: BigInt64Array,
  f16: Uint16Array,
  f32: Float32Array,
};
const OUTPUT_ARRAYS = { ...SOURCE_ARRAYS, bf16: Uint16Array };

/** A typed array's bytes in hex. */
const hex = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex");
/** Bytes in a buffer of their own, at its start. */
const bytes = (text) => new Uint8Array(Buffer.from(text, "hex"));
/** The bytes as a typed array of the source type. */
const elements = (source, raw) => new SOURCE_ARRAYS[source](raw.buffer);
const options = (source) => (source === "f16" ? { source: "float16" } : {});
/** Every element's bytes turned round. */
const swapped = (raw, width) => raw.map((_, i) => raw[i - (i % width) + width - 1 - (i % width)]);

test("all 104,700 vectors, as typed arrays and as raw bytes in both byte orders", () => {
  let judged = 0;
  for (const { src, dst, in: given, out: expected } of pairs) {
    const raw = bytes(given);
    const name = `${src} -> ${dst}`;
    const answer = convert(elements(src, raw), dst, options(src));
    assert.equal(hex(answer), expected, name);
    assert.equal(answer.constructor, OUTPUT_ARRAYS[dst], name);
    assert.equal(hex(convert(raw, dst, { source: src })), expected, `${name}, little-endian`);
    const big = swapped(raw, width[src]);
    assert.equal(hex(convert(big.buffer, dst, { source: src, byteOrder: "big" })), expected, `${name}, big-endian`);
    judged += answer.length;
  }
  assert.equal(pairs.length, 100);
  assert.equal(judged, 104_700);
});

test("every bit pattern of the 8- and 16-bit sources", () => {
  assert.equal(Object.keys(sums).length, 50);
  for (const [pair, sum] of Object.entries(sums)) {
    const [src, dst] = pair.split("->");
    const all = new SOURCE_ARRAYS[src](2 ** (8 * width[src])).map((_, i) => i);
    assert.equal(
      createHash("sha256")
        .update(convert(all, dst, options(src)))
        .digest("hex"),
      sum,
      pair,
    );
  }
});

test("long inputs across block seams, misaligned, into an array that is longer", () => {
  for (const { src, dst, in: given, out: expected } of pairs) {
    const [from, to] = [bytes(given), bytes(expected)];
    const block = (128 << 10) / Math.max(width[src], outputWidth[dst]);
    for (const length of [block - 1, block, block + 1, 2 * block + 3]) {
      // Vectors tiled; the first byte of the source lies at an odd place.
      const raw = new Uint8Array(length * width[src] + 1).map((_, i) => from[(i - 1 + from.length) % from.length]);
      const out = new OUTPUT_ARRAYS[dst](length + 2).fill(dst.endsWith("64") ? 7n : 7);
      assert.equal(convert(raw.subarray(1), dst, { source: src, out }), out);
      const tiled = Buffer.alloc(length * outputWidth[dst], to);
      assert.ok(Buffer.from(out.buffer, 0, tiled.length).equals(tiled), `${src} -> ${dst}, ${length} elements`);
      assert.deepEqual([...out.subarray(length)].map(Number), [7, 7], "past the end");
    }
  }
});

test("views with an offset, an empty source, Uint8ClampedArray, Buffer and DataView", () => {
  const source = new Int16Array([5, -1, 12, 256, 9]).subarray(1, 4);
  const out = new Uint8Array(8).fill(77);
  convert(source, "u8", { out: out.subarray(2) });
  assert.deepEqual([...out], [77, 77, 0, 12, 255, 77, 77, 77]);
  assert.deepEqual(convert(new Int16Array(), "f32"), new Float32Array());
  assert.deepEqual(convert(new ArrayBuffer(0), "u64", { source: "f32" }), new BigUint64Array());
  assert.deepEqual(convert(new Uint8ClampedArray([200]), "i8"), new Int8Array([127]));
  assert.deepEqual(
    convert(new Float32Array([300]), "u8", { out: new Uint8ClampedArray(1) }),
    new Uint8ClampedArray([255]),
  );
  assert.deepEqual(convert(Buffer.from([200]), "i8"), new Int8Array([127]));
  const view = new DataView(new Uint8Array([9, 1, 0, 9]).buffer, 1, 2);
  assert.deepEqual(convert(view, "u16", { source: "uint16", byteOrder: "big" }), new Uint16Array([256]));
  // Two views of one buffer that do not overlap.
  const shared = new ArrayBuffer(8);
  new Uint8Array(shared).set([1, 2, 3, 4]);
  convert(new Uint8Array(shared, 0, 4), "u8", { out: new Uint8Array(shared, 4) });
  assert.deepEqual([...new Uint8Array(shared)], [1, 2, 3, 4, 1, 2, 3, 4]);
});

test("names are short or full, in any case", () => {
  for (const { dtype, fullName } of dtypes) {
    const expected = convert(new Float32Array([1.5]), dtype);
    for (const name of [fullName, dtype.toUpperCase(), fullName.toUpperCase()]) {
      assert.deepEqual(convert(new Float32Array([1.5]), name), expected, name);
    }
  }
  for (const { source, fullName, width } of sources) {
    convert(new Uint8Array(width), "u8", { source });
    convert(new Uint8Array(width), "u8", { source: fullName.toUpperCase() });
  }
});

test(
  "Float16Array, where the engine has it",
  { skip: typeof Float16Array === "undefined" && "no Float16Array here" },
  () => {
    const values = new Float16Array([-1.9, 12.9, NaN, Infinity]);
    assert.deepEqual(convert(values, "i16"), new Int16Array([-1, 12, 0, 32767]));
    assert.deepEqual(convert(values, "i16", { source: "float16" }), new Int16Array([-1, 12, 0, 32767]));
    for (const { src, dst, in: given, out: expected } of pairs) {
      if (src === "f16") assert.equal(hex(convert(new Float16Array(bytes(given).buffer), dst)), expected, dst);
    }
  },
);
