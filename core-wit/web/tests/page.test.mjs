// The page as a whole in Chromium, in both forms: network, keyboard, phone, address, contrast; and its screenshots.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { PHONE, contrasts } from "./chromium.mjs";
import { SCREENSHOTS, fill, rows, settled, start, text } from "./browser.mjs";

let chromium;
before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  chromium = await start();
});
after(() => chromium.stop());

/** Lets the pause before the address is written pass. */
const saved = (page) => page.waitForTimeout(300);

for (const form of ["folder", "file"]) {
  describe(`page, ${form}`, () => {
    test("it asks for its own files only, once, and works offline afterwards", async () => {
      const page = await chromium.open(form);
      const own =
        form === "file"
          ? [chromium.urls.file]
          : ["", "style.css", "main.js", "component.core.wasm"].map((path) => chromium.urls.folder + path);
      assert.deepEqual([...page.requests].sort(), own.sort());
      await page.context().setOffline(true);
      await fill(page, { source: "u16", output: "bf16", values: "257 65535", crop: "32, 100, 100", type: "f16" });
      assert.deepEqual(
        (await rows(page)).map(({ output }) => output),
        ["256", "65536"],
      );
      await page.click("#copy");
      assert.equal(page.requests.length, own.length);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("the address keeps everything", async () => {
      const page = await chromium.open(form);
      assert.equal(new URL(page.url()).hash, "");
      await fill(page, {
        source: "f16",
        output: "bf16",
        values: "0.1, nan & # % ü 3",
        type: "i8",
        shape: "100,90,80",
        chunk: "10,9,8",
        shard: "",
        crop: "20, 30, 40",
        batch: "3",
        window: "2",
        seed: "a seed",
        ratio: "0.5",
      });
      await page.selectOption("#axis-down", "0");
      await saved(page);
      const { hash } = new URL(page.url());
      const look = async (one) => [
        await rows(one),
        await text(one, "decode-waste"),
        await text(one, "read-waste"),
        await text(one, "grid-words"),
        await text(one, "better-words"),
        await text(one, "python"),
      ];
      const other = await chromium.open(form, { hash });
      assert.deepEqual(await look(other), await look(page));
      await other.click("#reset");
      await settled(other);
      await saved(other);
      assert.equal(new URL(other.url()).hash, "");
      const hostile = await chromium.open(form, {
        hash: "#source=evil&output=%3Cimg%3E&values=%3Cimg%20src=x%3E&axes=9,9&__proto__=1&shape=%00&mode=zzz",
      });
      assert.equal(await hostile.inputValue("#source"), "f32");
      assert.match(await text(hostile, "values-error"), /is no number/);
      assert.match(await text(hostile, "shape-error"), /is no extent/);
      await hostile.click("#reset");
      await settled(hostile);
      assert.equal(await text(hostile, "shape-error"), "");
      for (const one of [page, other, hostile]) {
        assert.deepEqual(one.problems, []);
        await one.context().close();
      }
    });

    test("a keyboard reaches and works everything, in reading order, with a visible focus", async () => {
      const page = await chromium.open(form);
      const seen = [];
      for (let i = 0; i < 80; i += 1) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => {
          const one = document.activeElement;
          if (one === document.body) return undefined;
          const style = getComputedStyle(one);
          const name = one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent;
          return {
            id: one.id,
            tag: one.tagName,
            name: name.trim(),
            outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
            top: one.getBoundingClientRect().top + scrollY,
          };
        });
        if (!at) break;
        seen.push(at);
      }
      for (const { id, tag, name, outline } of seen) {
        assert.ok(name, `${tag}#${id} has a name`);
        assert.ok(outline, `${tag}#${id} shows its focus`);
      }
      const ids = seen.map(({ id }) => id).filter(Boolean);
      const order = [
        "reset",
        "copy",
        "source",
        "output",
        "values",
        "only-changed",
        "open",
        "type",
        "shape",
        "chunk",
        "shard",
        "ratio",
        "batchType",
        "batch",
        "crop",
        "mode-random",
        "seed",
        "window",
        "axis-down",
        "axis-across",
      ];
      assert.deepEqual(
        ids.filter((id) => order.includes(id)),
        order,
      );
      assert.equal(seen.filter(({ name }) => name.startsWith("Try chunk shape")).length, 1);

      await page.focus("#source");
      await page.keyboard.type("i16");
      await page.keyboard.press("Tab");
      await page.keyboard.type("u8");
      await page.keyboard.press("Tab");
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.type("-5 300");
      await settled(page);
      assert.deepEqual(
        (await rows(page)).map(({ output, mark }) => [output, mark]),
        [
          ["0", "clamped"],
          ["255", "clamped"],
        ],
      );
      await page.waitForFunction(() => document.getElementById("values-live").textContent.includes("2 clamped"));
      await page.focus("#mode-random");
      await page.keyboard.press("ArrowRight");
      await settled(page);
      assert.ok(await page.isVisible("#start"));
      await page.waitForFunction(() => document.getElementById("plan-live").textContent.startsWith("Decode waste"));
      await page.keyboard.press("ArrowLeft");
      await settled(page);
      const before = await page.inputValue("#chunk");
      await page.focus("#better-rows button");
      await page.keyboard.press("Enter");
      await settled(page);
      assert.notEqual(await page.inputValue("#chunk"), before);
      assert.equal(await page.evaluate(() => document.activeElement.id), "better", "the focus stays in place");
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("a phone of 360 px shows everything without scrolling sideways", async () => {
      for (const colorScheme of ["light", "dark"]) {
        const page = await chromium.open(form, { ...PHONE, colorScheme });
        const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
        assert.equal(await wide(), 360);
        await page.screenshot({ path: `${SCREENSHOTS}${form}-phone-${colorScheme}.png`, fullPage: true });
        await fill(page, {
          source: "u64",
          output: "bf16",
          values: "18446744073709551615 9259400833873739777 9223372036854775809",
        });
        assert.equal(await wide(), 360);
        await fill(page, {
          shape: "1000000000000, 1000000, 1000000",
          chunk: "100000, 1000, 1000",
          shard: "",
          crop: "1000000, 100000, 1000",
        });
        assert.equal(await wide(), 360);
        await page.fill("#values", "x".repeat(300));
        await settled(page);
        assert.equal(await wide(), 360);
        const small = await page.$$eval("button, select, input:not([type=file]), summary", (list) =>
          list
            .filter(
              (one) => one.offsetParent && one.closest("label") === null && one.getBoundingClientRect().height < 24,
            )
            .map((one) => one.id || one.textContent),
        );
        assert.deepEqual(small, [], "targets of 24 px or more");
        await page.context().close();
      }
    });

    test("text has contrast in light and dark", async () => {
      for (const colorScheme of ["light", "dark"]) {
        const page = await chromium.open(form, { colorScheme });
        const kinds = { source: "f32", output: "bf16", values: "1 1.00390625 3.4e38 x" };
        await fill(page, kinds);
        const poor = await page.evaluate(contrasts);
        assert.deepEqual(poor, [], colorScheme);
        await fill(page, { output: "i16", values: "1 1.5 nan inf -0.0" });
        assert.deepEqual(await page.evaluate(contrasts), [], colorScheme);
        await page.click("#reset");
        await page.mouse.move(0, 0);
        await settled(page);
        await page.screenshot({ path: `${SCREENSHOTS}${form}-desktop-${colorScheme}.png`, fullPage: true });
        await page.context().close();
      }
    });

    test("arrays of 0, 1, 2 and 5 axes, and grids too fine to draw", async () => {
      const page = await chromium.open(form);
      for (const [shape, chunk, crop] of [
        ["", "", ""],
        ["1000", "64", "100"],
        ["100, 3000", "10, 100", "50, 200"],
        ["3, 4, 50, 60, 70", "1, 1, 10, 20, 30", "1, 2, 30, 30, 30"],
        ["100000, 100000", "10, 10", "300, 300"],
        ["1, 1000000", "1, 1", "1, 1000"],
      ]) {
        await fill(page, { shard: "", shape, chunk, crop });
        const said = await page.$$eval(".form .error", (list) => list.map((one) => one.textContent).filter(Boolean));
        assert.deepEqual(said, [], shape);
        assert.equal(await page.$$eval("#grid svg rect.crop", (list) => list.length), 8, shape);
        await page
          .locator("#plan-results")
          .screenshot({ path: `${SCREENSHOTS}${form}-grid-${shape.replaceAll(", ", "x") || "point"}.png` });
      }
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });
  });
}
