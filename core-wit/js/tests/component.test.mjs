// The component as a whole: its memory stays constant, and a trap fails one call alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import * as damacy from "damacy";
import { load } from "damacy/load";

const wasm = readFileSync(fileURLToPath(import.meta.resolve("damacy/component.core.wasm")));
const document = readFileSync(new URL("../../../tests/metadata/base-v3.json", import.meta.url), "utf8");

test("10,000 calls of each function leave the memory's size constant", async () => {
  const { convert, parseMetadata, objectKey, plan, estimate, memoryBytes } = await load({ wasm });
  const ignore = (call) => {
    try {
      call();
      assert.fail("nothing was thrown");
    } catch (error) {
      assert.equal(error.name, "DamacyError", String(error.stack));
    }
  };
  const array = parseMetadata(document, { format: "v3" });
  const request = {
    spec: { samples: 1, shape: [7, 9], dtype: "u8" },
    arrays: [array],
    samples: [
      {
        array: 0,
        bounds: [
          [1, 8],
          [2, 11],
        ],
      },
    ],
  };
  const source = new Int16Array(1000);
  const calls = [
    () => convert(source, "f32"),
    () => ignore(() => convert(new Uint8Array(3), "f32", { source: "u16" })),
    () => parseMetadata(document, { format: "v3" }),
    () => ignore(() => parseMetadata(document.slice(0, -9), { format: "v3" })),
    () => objectKey(array, [1, 2]),
    () => plan(request),
    () => estimate({ spec: request.spec, arrays: [array], crops: { tag: "uniform" }, adviseLookAhead: true }),
    () => ignore(() => estimate({ spec: request.spec, arrays: [array], crops: { tag: "grid", val: [0, 1] } })),
    () =>
      ignore(() =>
        plan({
          ...request,
          samples: [
            {
              array: 0,
              bounds: [
                [1, 8],
                [2, 12],
              ],
            },
          ],
        }),
      ),
  ];
  for (const call of calls) for (let i = 0; i < 100; i++) call();
  const before = memoryBytes();
  for (const call of calls) for (let i = 0; i < 10_000; i++) call();
  assert.equal(memoryBytes(), before);
  assert.ok(before < 2 << 20, `${before} bytes`);
});

test("a long conversion takes no more memory than a few blocks", async () => {
  const { convert, memoryBytes } = await load({ wasm });
  convert(new Uint8Array(16 << 20), "u64");
  assert.ok(memoryBytes() < 4 << 20, `${memoryBytes()} bytes`);
});

/** The module with its memory bounded to one page more than it starts with. */
function bounded() {
  const head = (at) => {
    let [value, shift, next] = [0, 0, at];
    do ((value |= (wasm[next] & 127) << shift), (shift += 7));
    while (wasm[next++] & 128);
    return [value, next];
  };
  for (let at = 8; ;) {
    const [size, body] = head(at + 1);
    if (wasm[at] !== 5) {
      at = body + size;
      continue;
    }
    assert.deepEqual([...wasm.subarray(body, body + 2)], [1, 0], "one memory without a maximum");
    const [least, end] = head(body + 2);
    assert.ok(end === body + size && least < 127);
    const limit = [1, 1, least, least + 1];
    return Buffer.concat([wasm.subarray(0, at + 1), Buffer.from([limit.length, ...limit]), wasm.subarray(body + size)]);
  }
}

test("a trap fails one call alone", async () => {
  const { convert, plan, parseMetadata } = await load({ wasm: bounded() });
  assert.deepEqual(convert(new Int16Array([300]), "u8"), new Uint8Array([255]));
  for (let i = 0; i < 3; i++) {
    // A document that does not fit in one page more.
    assert.throws(
      () => parseMetadata(document + " ".repeat(1 << 19), { format: "v3" }),
      (error) => {
        assert.equal(error.status, "INTERNAL", error.message);
        assert.ok(error.cause instanceof Error);
        return true;
      },
    );
    assert.deepEqual(convert(new Int16Array([300]), "u8"), new Uint8Array([255]));
  }
  const array = parseMetadata(document, { format: "v3" });
  assert.equal(
    plan({
      spec: { samples: 1, shape: [1, 1], dtype: "u8" },
      arrays: [array],
      samples: [
        {
          array: 0,
          bounds: [
            [0, 1],
            [0, 1],
          ],
        },
      ],
    }).chunks.length,
    1,
  );
});

test("loaded components are apart, and have what the package has", async () => {
  const other = await load({ wasm: wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength) });
  const before = damacy.memoryBytes();
  other.convert(new Uint8Array(1 << 20), "u64");
  assert.equal(damacy.memoryBytes(), before);
  for (const name of Object.keys(other)) assert.ok(name in damacy, name);
  assert.deepEqual(other.dtypes, damacy.dtypes);
  assert.equal(other.sources.length * other.dtypes.length, 100);
});
