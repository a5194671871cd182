// The npm package as browsers load it, without a bundler, in Chromium: Float16Array, which Node 20 lacks, and the other faces.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { launch, visit } from "./chromium.mjs";
import { ROOT } from "./browser.mjs";

const PACKAGE = fileURLToPath(new URL("../../js/dist/", import.meta.url));
const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };
const PAIRS = readFileSync(`${ROOT}tests/vectors/pairs.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line))
  .filter(({ src }) => src === "f16");
const SUMS = JSON.parse(readFileSync(`${ROOT}tests/vectors/exhaustive.json`, "utf8"));

let browser;
let server;
let page;
before(async () => {
  server = createServer(async (request, response) => {
    if (request.url === "/") return response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><link rel="icon" href="data:,">`);
    try {
      const body = await readFile(PACKAGE + request.url.slice(1));
      response.writeHead(200, { "content-type": TYPES[extname(request.url)] }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  browser = await launch();
  page = await visit(browser, `http://127.0.0.1:${server.address().port}/`);
  await page.evaluate(async () => {
    globalThis.damacy = await import("/index.js");
    globalThis.fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
    globalThis.toHex = (array) =>
      [...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)]
        .map((byte) => byte.toString(16).padStart(2, "0"))
        .join("");
    /** What a call throws, in parts. */
    globalThis.thrown = (call) => {
      try {
        return { answer: String(call()) };
      } catch ({ name, status, message }) {
        return { name, status, message };
      }
    };
  });
});
after(async () => {
  await browser.close();
  await new Promise((done) => server.close(done));
});

test("this Chromium has Float16Array, so that the tests below are of it", async () => {
  assert.equal(await page.evaluate(() => typeof Float16Array), "function", "Chromium 135 or newer is needed");
});

test("a Float16Array is a source: the judged vectors to every output type", async () => {
  assert.equal(PAIRS.length, 10);
  for (const { dst, in: given, out } of PAIRS) {
    const [kind, bits] = await page.evaluate(
      ([given, dst]) => {
        const source = new Float16Array(fromHex(given).buffer);
        const converted = damacy.convert(source, dst);
        return [converted.constructor.name, toHex(converted)];
      },
      [given, dst],
    );
    assert.equal(bits, out, dst);
    assert.equal(kind, { f32: "Float32Array", bf16: "Uint16Array" }[dst] ?? kind);
  }
});

test("every bit pattern of a Float16Array, in a part of a longer one, into an array that is given", async () => {
  for (const { dst } of PAIRS) {
    const bits = await page.evaluate((dst) => {
      const all = new Float16Array(65538);
      new Uint16Array(all.buffer).set(
        Uint16Array.from({ length: 65536 }, (_, i) => i),
        1,
      );
      const source = all.subarray(1, 65537);
      const out = damacy.convert(source, dst);
      const given = new out.constructor(65536);
      if (damacy.convert(source, dst, { source: "float16", out: given }) !== given) throw new Error("another array");
      if (toHex(given) !== toHex(out)) throw new Error("other bits in the array given");
      return toHex(out);
    }, dst);
    assert.equal(createHash("sha256").update(Buffer.from(bits, "hex")).digest("hex"), SUMS[`f16->${dst}`], dst);
  }
});

test("values of a Float16Array are those that JavaScript reads from it", async () => {
  const [values, floats, integers] = await page.evaluate(() => {
    const source = new Float16Array([-1.9, 12.9, NaN, Infinity, -0.0, 6e-8, 65504]);
    return [[...source], [...damacy.convert(source, "float32")], [...damacy.convert(source, "i16")]];
  });
  assert.deepEqual(floats, values);
  assert.deepEqual(integers, [-1, 12, 0, 32767, 0, 0, 32767]);
});

test("float16 is no output type: a Float16Array as out is refused, and nothing is written", async () => {
  for (const [dtype, wanted] of [
    ["f32", "Float32Array"],
    ["bf16", "Uint16Array"],
    ["u16", "Uint16Array"],
  ]) {
    const { status, message, left } = await page.evaluate((dtype) => {
      const out = new Float16Array(2).fill(7);
      return { ...thrown(() => damacy.convert(new Float32Array([1, 2]), dtype, { out })), left: [...out] };
    }, dtype);
    assert.equal(status, "INVAL");
    assert.ok(message.includes("Float16Array") && message.includes(wanted), message);
    assert.deepEqual(left, [7, 7]);
  }
  const refused = await page.evaluate(() => thrown(() => damacy.convert(new Float32Array(1), "float16")));
  assert.equal(refused.status, "INVAL");
  assert.match(refused.message, /"float16"; accepted are f32/);
});

test("a Float16Array is read as nothing else, and not over itself", async () => {
  const other = await page.evaluate(() => thrown(() => damacy.convert(new Float16Array(2), "f32", { source: "u16" })));
  assert.equal(other.status, "INVAL");
  assert.match(other.message, /"u16" for a Float16Array; accepted is f16/);
  const over = await page.evaluate(() => {
    const source = new Float16Array(4);
    return thrown(() => damacy.convert(source, "u16", { out: new Uint16Array(source.buffer) }));
  });
  assert.equal(over.status, "INVAL");
  assert.match(over.message, /bytes 0 to 8 .*bytes 0 to 8 .*overlap/);
});

test("plans and prices in the browser", async () => {
  const [chunks, waste, priced] = await page.evaluate(() => {
    const array = damacy.parseMetadata(
      `{"zarr_format": 2, "shape": [8], "chunks": [2], "dtype": "<f2", "order": "C", "compressor": null,
        "filters": null, "fill_value": 0}`,
      { format: "v2" },
    );
    const spec = { samples: 1, shape: [3], dtype: "f32" };
    const samples = [{ array: 0, bounds: [[1, 4]] }];
    const { totals, chunks } = damacy.plan({ spec, arrays: [array], samples });
    const cost = damacy.estimate({ spec, arrays: [array], crops: { tag: "boxes", val: samples } });
    return [chunks.length, totals.decodeWaste, cost.decodeWaste];
  });
  // Elements 1, 2 and 3 lie in 2 chunks of 2.
  assert.deepEqual([chunks, waste, priced], [2, 4 / 3, 4 / 3]);
  assert.deepEqual(page.problems, []);
});
