// The values panel in Chromium, in both forms, against the judged vectors.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { ROOT, fill, rows, settled, start, text } from "./browser.mjs";

const PAIRS = readFileSync(`${ROOT}tests/vectors/pairs.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
const WIDTHS = { u8: 1, i8: 1, u16: 2, i16: 2, f16: 2, bf16: 2, u32: 4, i32: 4, f32: 4, u64: 8, i64: 8 };
/** Values of a pair that are typed; few enough to be converted at once. The marks of all are tested without a browser. */
const MOST_VALUES = 100;

/** Little-endian hex dump -> bit patterns as the page writes them. */
const patterns = (dump, type) =>
  dump.match(new RegExp(`.{${2 * WIDTHS[type]}}`, "g")).map((one) => `0x${one.match(/../g).reverse().join("")}`);

let chromium;
before(async () => (chromium = await start()));
after(() => chromium.stop());

for (const form of ["folder", "file"]) {
  describe(`values, ${form}`, () => {
    test("the first example shows what the specification says", async () => {
      const page = await chromium.open(form);
      const found = await rows(page);
      assert.deepEqual(
        found.slice(0, 5).map(({ source, output, mark }) => [source, output, mark]),
        [
          ["-1.9", "-1", "truncated"],
          ["12.9", "12", "truncated"],
          ["nan", "0", "NaN to 0"],
          ["inf", "32767", "clamped"],
          ["-inf", "-32768", "clamped"],
        ],
      );
      await fill(page, { source: "i16", output: "u8", values: "-1 12 256" });
      assert.deepEqual(
        (await rows(page)).map(({ output, mark }) => [output, mark]),
        [
          ["0", "clamped"],
          ["12", "exact"],
          ["255", "clamped"],
        ],
      );
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("all 100 pairs give the judged bits, and none is unexpected", async () => {
      const page = await chromium.open(form);
      for (const { src, dst, in: given, out } of PAIRS) {
        const from = patterns(given, src);
        const to = patterns(out, dst);
        const step = Math.max(1, Math.ceil(from.length / MOST_VALUES));
        const pick = from.map((_, i) => i).filter((i) => i % step === 0);
        await page.selectOption("#source", src);
        await page.selectOption("#output", dst);
        await page.fill("#values", pick.map((i) => from[i]).join(" "));
        await settled(page);
        const found = await rows(page);
        assert.deepEqual(
          found.map((row) => row.sourceBits),
          pick.map((i) => from[i]),
          `${src} to ${dst}`,
        );
        assert.deepEqual(
          found.map((row) => row.outputBits),
          pick.map((i) => to[i]),
          `${src} to ${dst}`,
        );
        assert.ok(
          found.every((row) => row.mark !== "unexpected"),
          `${src} to ${dst}`,
        );
      }
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("what cannot be read is named beside the field, and the rest is converted", async () => {
      const page = await chromium.open(form);
      await fill(page, { source: "u8", output: "f32", values: "1, x, 3, 256, 1.5, -1, 0x1ff, 7" });
      const error = await text(page, "values-error");
      assert.match(error, /Value 2, “x”, is no number/);
      assert.match(error, /Value 4, “256”, is outside u8/);
      assert.match(error, /2 more could not be read/);
      assert.match(error, /u8 takes whole numbers from 0 to 255/);
      assert.equal(await page.getAttribute("#values", "aria-invalid"), "true");
      assert.deepEqual(
        (await rows(page)).map(({ output }) => output),
        ["1", "3", "7"],
      );
      await fill(page, { values: "1 2 3" });
      assert.equal(await text(page, "values-error"), "");
      assert.equal(await page.getAttribute("#values", "aria-invalid"), "false");
      await fill(page, { values: "" });
      assert.match(await text(page, "results-empty"), /Type or paste values/);
      await fill(page, { values: "<img src=x onerror=alert(1)>" });
      assert.equal(await page.$$eval("#values-panel img", (list) => list.length), 0);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("huge pastes are cut, and the page says so and stays quick", async () => {
      const page = await chromium.open(form);
      await fill(page, { source: "i32", output: "u8" });
      const paste = Array.from({ length: 60_000 }, (_, i) => i - 30_000).join(",");
      await page.$eval(
        "#values",
        (field, value) => {
          field.value = value;
          field.dispatchEvent(new Event("input", { bubbles: true }));
        },
        paste,
      );
      await page.waitForFunction(() => document.getElementById("values-note").textContent.includes("50,000"));
      assert.match(await text(page, "values-note"), /only the first 50,000 of 60,000 values are converted/);
      assert.match(await text(page, "results-more"), /first 300 of 50,000 rows/);
      // -30000 .. 19999: below 0 and above 255 are clamped.
      assert.match(await text(page, "summary"), /49,744 clamped/);
      assert.match(await text(page, "summary"), /256 exact/);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("only values that changed", async () => {
      const page = await chromium.open(form);
      await fill(page, { source: "i16", output: "u8", values: "1 2 300 4" });
      await page.check("#only-changed");
      assert.deepEqual(
        (await rows(page)).map(({ source }) => source),
        ["300"],
      );
      await fill(page, { values: "1 2" });
      assert.match(await text(page, "results-empty"), /kept exactly/);
      await page.context().close();
    });
  });
}
