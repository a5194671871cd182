// What convert refuses: a typed error that names what was given and what is accepted, and nothing is written.
import assert from "node:assert/strict";
import { test } from "node:test";
import { convert, DamacyError, load, parseMetadata, plan } from "damacy";

/** Runs `call`, which must throw a DamacyError of a status whose message has all the parts. */
function refused(call, status, ...parts) {
  assert.throws(call, (error) => {
    assert.ok(error instanceof DamacyError && error instanceof Error, String(error));
    assert.equal(error.name, "DamacyError");
    assert.equal(error.status, status, error.message);
    for (const part of parts) assert.ok(error.message.includes(part), `"${error.message}" lacks "${part}"`);
    assert.match(error.message, /accepted|detached or resized/);
    return true;
  });
}

test("names of output types", () => {
  for (const [name, given] of [
    ["flaot32", '"flaot32"'],
    ["", '""'],
    ["float16", '"float16"'],
    ["float64", '"float64"'],
    ["bool", '"bool"'],
    [" u8", '" u8"'],
    ["__proto__", "__proto__"],
    ["constructor", "constructor"],
    [undefined, "undefined"],
    [null, "null"],
    [2, "2"],
    [2n, "2n"],
    [true, "true"],
    [Uint8Array, "a function"],
    [["u8"], "an array of 1"],
    [{ toLowerCase: () => "u8" }, "an object"],
    [Symbol("u8"), "a symbol"],
  ]) {
    refused(() => convert(new Uint8Array(1), name), "INVAL", given, "bf16, bfloat16");
  }
});

test("sources without a conversion", () => {
  refused(() => convert(new Float64Array(2), "u8"), "DTYPE", "Float64Array", "Float32Array");
  refused(() => convert(new Float64Array(2), "u8", { source: "f32" }), "DTYPE", "Float64Array");
  for (const source of ["float64", "bfloat16", "bool", "", 3, null, {}]) {
    refused(() => convert(new Uint8Array(8), "u8", { source }), "DTYPE", "options.source", "float16");
  }
});

test("sources of a wrong kind", () => {
  for (const [source, given] of [
    [[1, 2], "an array of 2"],
    ["12", '"12"'],
    [12, "12"],
    [null, "null"],
    [undefined, "undefined"],
    [{ length: 1 }, "an object"],
    [new Map(), "Map"],
    [Object.create(Uint8Array.prototype), "object"],
  ]) {
    refused(() => convert(source, "u8"), "INVAL", given, "typed arrays");
  }
  refused(() => convert(new ArrayBuffer(4), "u8"), "INVAL", "options.source", "float16");
  refused(() => convert(new DataView(new ArrayBuffer(4)), "u8"), "INVAL", "options.source");
  refused(() => convert(new Int16Array(2), "u8", { source: "u16" }), "INVAL", '"u16"', "Int16Array", "i16");
  refused(() => convert(new Uint16Array(2), "u8", { source: "i16" }), "INVAL", "u16 or f16");
  refused(() => convert(new Uint16Array(2), "u8", { byteOrder: "big" }), "INVAL", "Uint16Array");
  refused(() => convert(new Uint8Array(2), "u8", { byteOrder: "BIG" }), "INVAL", '"BIG"', '"little", "big"');
  for (const options of [null, "u8", 3, [], new Uint8Array(1)])
    refused(() => convert(new Uint8Array(2), "u8", options), "INVAL", "options");
});

test("options that do not exist", () => {
  const out = new Uint8Array(2).fill(7);
  refused(() => convert(new Uint16Array(2), "u8", { out, byteorder: "big" }), "INVAL", '"byteorder"', "byteOrder");
  assert.deepEqual(out, new Uint8Array(2).fill(7));
  const parse = (options) => () => parseMetadata("{}", options);
  refused(parse({ format: "v3", limit: {} }), "INVAL", 'options has "limit"', "format, limits");
  refused(parse({ format: "v3", limits: { maxByte: 1 } }), "INVAL", 'options.limits has "maxByte"', "maxBytes");
  const request = { spec: { samples: 1, shape: [], dtype: "u8" }, arrays: [], samples: [] };
  assert.equal(plan(request).chunks.length, 0);
  refused(() => plan({ ...request, encodedRatio: [1] }), "INVAL", '"encodedRatio"', "encodedRatios");
  refused(() => plan({ ...request, limits: { maxchunks: 1 } }), "INVAL", 'limits has "maxchunks"', "maxChunks");
});

test("ragged bytes", () => {
  for (const [source, length, width] of [
    ["u16", 3, 2],
    ["f16", 1, 2],
    ["f32", 6, 4],
    ["i64", 12, 8],
  ]) {
    const out = new Float32Array(4).fill(7);
    refused(
      () => convert(new Uint8Array(length), "f32", { source, out }),
      "INVAL",
      `${length} bytes`,
      `multiple of ${width}`,
    );
    assert.deepEqual(out, new Float32Array(4).fill(7));
  }
});

test("outputs that do not fit", () => {
  const source = new Uint16Array([1, 2, 3]);
  for (const [out, given] of [
    [new Uint16Array(3), "Uint16Array"],
    [new Float64Array(3), "Float64Array"],
    [new ArrayBuffer(12), "ArrayBuffer"],
    [[0, 0, 0], "an array of 3"],
    [null, "null"],
    [new DataView(new ArrayBuffer(12)), "DataView"],
  ]) {
    refused(() => convert(source, "f32", { out }), "INVAL", given, "Float32Array");
  }
  const small = new Float32Array(2).fill(7);
  refused(() => convert(source, "f32", { out: small }), "INVAL", "2 elements", "3 or more");
  assert.deepEqual(small, new Float32Array(2).fill(7));
});

test("memory that overlaps", () => {
  const buffer = new ArrayBuffer(12);
  for (const [from, to] of [
    [0, 0],
    [0, 3],
    [3, 0],
    [4, 3],
  ]) {
    const all = new Uint8Array(buffer).fill(7);
    refused(
      () => convert(new Uint8Array(buffer, from, 4), "i8", { out: new Int8Array(buffer, to, 4) }),
      "INVAL",
      `out is written at bytes ${to} to ${to + 4}`,
      `the source lies at bytes ${from} to ${from + 4}`,
      "overlap",
    );
    assert.deepEqual(all, new Uint8Array(12).fill(7));
  }
});

test("memory that is shared, detached or resized away", () => {
  const shared = new SharedArrayBuffer(4);
  refused(() => convert(new Uint8Array(shared), "f32"), "INVAL", "the source", "SharedArrayBuffer");
  refused(() => convert(new Uint8Array(1), "u8", { out: new Uint8Array(shared) }), "INVAL", "out", "SharedArrayBuffer");
  refused(() => convert(shared, "f32", { source: "u8" }), "INVAL", "SharedArrayBuffer");

  const gone = (make) => {
    const buffer = new ArrayBuffer(4);
    const value = make(buffer);
    structuredClone(buffer, { transfer: [buffer] });
    return value;
  };
  refused(
    () =>
      convert(
        gone((b) => new Uint8Array(b)),
        "f32",
      ),
    "INVAL",
    "the source",
    "detached",
  );
  refused(
    () =>
      convert(
        gone((b) => new DataView(b)),
        "f32",
        { source: "u8" },
      ),
    "INVAL",
    "the source",
    "detached",
  );
  refused(
    () =>
      convert(
        gone((b) => b),
        "f32",
        { source: "u8" },
      ),
    "INVAL",
    "the source",
    "detached",
  );
  refused(() => convert(new Uint8Array(0), "u8", { out: gone((b) => new Uint8Array(b)) }), "INVAL", "out", "detached");

  const buffer = new ArrayBuffer(8, { maxByteLength: 16 });
  const fixed = new Uint8Array(buffer, 4, 4);
  const tracking = new Uint8Array(buffer);
  buffer.resize(6);
  refused(() => convert(fixed, "f32"), "INVAL", "the source", "resized");
  refused(() => convert(new Uint8Array(0), "u8", { out: fixed }), "INVAL", "out", "resized");
  assert.equal(convert(tracking, "f32").length, 6);
});

test("a buffer that the options take away is refused, not written", () => {
  const source = new Uint8Array(4);
  const options = {
    get out() {
      structuredClone(source.buffer, { transfer: [source.buffer] });
      return undefined;
    },
  };
  refused(() => convert(source, "f32", options), "INVAL", "detached");
});

test("a typed array that lies about its length", () => {
  const source = new Uint8Array(1);
  Object.defineProperty(source, "byteLength", { value: 2 ** 40 });
  refused(() => convert(source, "u64"), "INVAL", "detached or resized");
});

test("bytes that are no component", async () => {
  for (const wasm of [undefined, "x", new Uint8Array(8), [0, 97], {}]) {
    await assert.rejects(
      load({ wasm }),
      (error) =>
        error instanceof DamacyError && error.status === "INVAL" && /component\.core\.wasm/.test(error.message),
    );
  }
  // A module, but another one.
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  await assert.rejects(load({ wasm: empty }), DamacyError);
  await assert.rejects(load(), DamacyError);
});
