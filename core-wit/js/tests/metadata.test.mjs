// Metadata against the corpus: facts that zarr-python read in legal documents, and documents that must be refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DamacyError, objectKey, parseMetadata, sources } from "damacy";

const corpus = new URL("../../../tests/metadata/", import.meta.url);
const read = (name) => readFileSync(new URL(name, corpus), "utf8");
const lines = (name) =>
  read(name)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
// JSON.parse would round facts beyond 2^53: they become strings first. Documents are strings already.
const legal = read("legal.jsonl")
  .trim()
  .split("\n")
  .map((line) => {
    const facts = line.lastIndexOf('"facts": ');
    return JSON.parse(line.slice(0, facts) + line.slice(facts).replace(/(?<=[[ ])\d{16,}(?=[,\]])/g, '"$&"'));
  });
const fullName = Object.fromEntries(sources.map(({ source, fullName }) => [source, fullName]));

/** The status of the DamacyError that `call` must throw. */
function caught(call) {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof DamacyError, String(error?.stack ?? error));
    return error;
  }
  assert.fail("nothing was thrown");
}

test("legal documents give zarr-python's facts", () => {
  assert.ok(legal.length > 200);
  for (const { name, format, document, facts } of legal) {
    const array = parseMetadata(document, { format: `v${format}` });
    assert.deepEqual(array.shape, BigUint64Array.from(facts.shape, BigInt), name);
    assert.deepEqual(
      array.levels,
      facts.levels.map((level) => BigUint64Array.from(level, BigInt)),
      name,
    );
    assert.equal(array.source && fullName[array.source], facts.source ?? undefined, name);
    if (facts.source) {
      assert.equal(Buffer.from(array.fillValue).toString("hex"), facts.fill_value, name);
      if (!/8$/.test(facts.source)) assert.equal(array.byteOrder, facts.byte_order, name);
    }
    assert.equal(array.layout.toUpperCase(), facts.order, name);
    for (const [coords, key] of facts.keys) assert.equal(objectKey(array, coords), key, name);
    assert.deepEqual(parseMetadata(new TextEncoder().encode(document), { format: `v${format}` }), array, name);
  }
});

test("objects say the same as their text, where JSON.parse keeps their numbers", () => {
  let same = 0;
  for (const { name, format, document } of legal) {
    // Python writes NaN and Infinity, which JavaScript's JSON does not read.
    if (/(NaN|Infinity)(?!")/.test(document)) continue;
    const object = JSON.parse(document);
    const text = JSON.stringify(object);
    // An object may also be refused: its integers are no longer those of the document.
    let array;
    try {
      array = parseMetadata(object, { format: `v${format}` });
    } catch (error) {
      assert.match(error.message, /give the document's text/, name);
      continue;
    }
    assert.deepEqual(array, parseMetadata(text, { format: `v${format}` }), name);
    same += 1;
  }
  assert.ok(same > legal.length / 2, `${same} of ${legal.length}`);
});

test("documents to refuse: status, place and words", () => {
  const bases = { 2: read("base-v2.json"), 3: read("base-v3.json") };
  const refused = lines("refused.jsonl");
  assert.ok(refused.length > 200);
  for (const { name, format, replace, status, says, at } of refused) {
    const document = replace.reduce((text, [from, to]) => text.split(from).join(to), bases[format]);
    const error = caught(() => parseMetadata(document, { format: `v${format}` }));
    assert.equal(error.status, status, `${name}: ${error.message}`);
    for (const part of says) assert.ok(error.message.includes(part), `${name}: ${error.message}`);
    if (at !== null) assert.equal(error.path ?? "", at, name);
    if (error.path) assert.ok(error.message.endsWith(` (at ${error.path})`), `${name}: ${error.message}`);
  }
});

test("precision is never lost in silence", () => {
  const document = { ...JSON.parse(read("base-v3.json")), data_type: "uint64" };
  const text = JSON.stringify(document).replace('"fill_value":7', '"fill_value":18446744073709551615');
  assert.deepEqual(parseMetadata(text, { format: "v3" }).fillValue, new Uint8Array(8).fill(255));
  for (const fill_value of [JSON.parse("18446744073709551615"), 2 ** 53, NaN, Infinity]) {
    const error = caught(() => parseMetadata({ ...document, fill_value }, { format: "v3" }));
    assert.equal(error.status, "INVAL");
    assert.match(error.message, /"fill_value" is .*give the document's text/);
  }
  const shape = [18446744073709551615n, 1n];
  const large = text.replace(/"shape":\[[^\]]*\]/, `"shape":[${shape.join()}]`);
  assert.deepEqual(parseMetadata(large, { format: "v3" }).shape, BigUint64Array.from(shape));
});

test("arguments of a wrong kind, and limits", () => {
  const document = read("base-v3.json");
  for (const wrong of [undefined, null, 3, true, [], new Float32Array(2), new DataView(new ArrayBuffer(2)), () => 1]) {
    assert.equal(caught(() => parseMetadata(wrong, { format: "v3" })).status, "INVAL");
  }
  for (const options of [undefined, null, "v3", {}, { format: "V3" }, { format: 3 }, { format: "v3", limits: 4 }]) {
    assert.equal(caught(() => parseMetadata(document, options)).status, "INVAL");
  }
  for (const limit of [-1, 1.5, NaN, Infinity, "9", null, 2 ** 53, -1n, 2n ** 64n]) {
    for (const name of ["maxBytes", "maxValues"]) {
      assert.equal(
        caught(() => parseMetadata(document, { format: "v3", limits: { [name]: limit } })).status,
        "INVAL",
        `${name} ${limit}`,
      );
    }
  }
  for (const limit of [-1, 1.5, NaN, 2 ** 32, 1n]) {
    assert.equal(
      caught(() => parseMetadata(document, { format: "v3", limits: { maxDepth: limit } })).status,
      "INVAL",
      String(limit),
    );
  }
  for (const limits of [{ maxBytes: 20 }, { maxDepth: 2 }, { maxValues: 3n }, { maxRank: 1 }, { maxCodecs: 0 }]) {
    const { status, limit, message } = caught(() => parseMetadata(document, { format: "v3", limits }));
    const [[name, value]] = Object.entries(limits);
    assert.deepEqual([status, limit.name, limit.value], ["BUDGET", name, BigInt(value)]);
    assert.ok(limit.asked > limit.value && message.includes(` is ${value}`), message);
  }
  const round = {};
  round.round = round;
  for (const odd of [round, { shape: 1n }, { toJSON: () => undefined }]) {
    assert.ok(["INVAL", "DECODE"].includes(caught(() => parseMetadata(odd, { format: "v3" })).status));
  }
  let deep = {};
  for (let i = 0; i < 100_000; i++) deep = { deep };
  assert.equal(caught(() => parseMetadata(deep, { format: "v3" })).status, "INVAL");
  assert.equal(caught(() => parseMetadata("[".repeat(1 << 20), { format: "v3" })).status, "DECODE");
  assert.equal(caught(() => objectKey(parseMetadata(document, { format: "v3" }), [1])).status, "RANK");
});
