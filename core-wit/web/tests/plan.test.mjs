// The plan panel in Chromium, in both forms, against chunks counted one element at a time.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fill, settled, start, text } from "./browser.mjs";
import { cropsOf, product, size, touched } from "./counting.mjs";

let chromium;
before(async () => (chromium = await start()));
after(() => chromium.stop());

const numbers = (list) => list.split(",").map(Number);
/** What the page should say. */
function expected({ chunk, crop, width, outputWidth, batch, crops, ratio }) {
  const { chunks, uses } = touched(chunk, crops);
  const decoded = chunks * product(chunk) * width;
  const needed = crops.length * product(crop) * width;
  const waste = (number) => `${number.toFixed(2)}×`;
  return {
    chunks: String(chunks),
    uses: `used ${uses} time`,
    decode: waste(decoded / needed),
    read: ratio === undefined ? "unknown" : waste(Math.ceil(decoded * ratio) / needed),
    batch: batch * product(crop) * outputWidth,
  };
}

async function figures(page) {
  return {
    chunks: await text(page, "chunks-touched"),
    uses: (await text(page, "chunks-touched-detail")).replace(/.*(used \d+ time).*/, "$1"),
    decode: await text(page, "decode-waste"),
    read: await text(page, "read-waste"),
  };
}

const SMALL = {
  type: "i16",
  batchType: "u64",
  shape: "9,20,12",
  chunk: "2,5,3",
  shard: "4,10,6",
  crop: "3,7,5",
  batch: "4",
  window: "3",
  seed: "7",
  ratio: "0.37",
};

/** Rows of one chunk each, wasted on cubes. */
const ADVISED = {
  type: "u16",
  shape: "64, 60, 48",
  chunk: "1, 60, 48",
  crop: "12, 20, 16",
  batch: "3",
  window: "2",
  seed: "5",
};

for (const form of ["folder", "file"]) {
  describe(`plan, ${form}`, () => {
    test("figures are those counted one element at a time", async () => {
      const page = await chromium.open(form);
      await fill(page, SMALL);
      const crops = cropsOf(SMALL.shape, SMALL.crop, 12, "7");
      const { batch, ...want } = expected({
        chunk: [2, 5, 3],
        crop: [3, 7, 5],
        width: 2,
        outputWidth: 8,
        batch: 4,
        crops,
        ratio: 0.37,
      });
      assert.deepEqual(await figures(page), want);
      assert.ok(Math.abs(size(await text(page, "batch-size")) / batch - 1) < 0.005);
      await fill(page, { ratio: "" });
      assert.equal(await text(page, "read-waste"), "unknown");
      await fill(page, { ratio: "37%" });
      assert.equal(await text(page, "read-waste"), want.read);
      await page.check("#mode-given");
      await fill(page, { start: "6, 13, 7", ratio: "" });
      const one = expected({
        chunk: [2, 5, 3],
        crop: [3, 7, 5],
        width: 2,
        outputWidth: 8,
        batch: 4,
        crops: [
          [
            [6, 9],
            [13, 20],
            [7, 12],
          ],
        ],
      });
      assert.equal(await text(page, "chunks-touched"), one.chunks);
      assert.equal(await text(page, "decode-waste"), one.decode);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("bytes a batch in each of the ten types", async () => {
      const page = await chromium.open(form);
      const shown = await page.$$eval("#batch-bytes tr", (list) =>
        list.map((row) => [row.querySelector("th").firstChild.textContent, row.querySelector(".number").textContent]),
      );
      const widths = { f32: 4, bf16: 2, u8: 1, u16: 2, u32: 4, u64: 8, i8: 1, i16: 2, i32: 4, i64: 8 };
      assert.deepEqual(
        Object.fromEntries(shown.map(([name, value]) => [name, size(value)])),
        Object.fromEntries(Object.entries(widths).map(([name, width]) => [name, 8 * 64 * 128 * 128 * width])),
      );
      await page.context().close();
    });

    test("the drawing has each crop where it lies and each touched column with its number", async () => {
      const page = await chromium.open(form);
      for (const [axes, down, across] of [
        ["", 1, 2],
        ["0,2", 0, 2],
      ]) {
        if (axes) {
          await page.selectOption("#axis-down", "0");
          await page.selectOption("#axis-across", "2");
          await settled(page);
        }
        const crops = cropsOf("256,512,512", "64,128,128", 8, "1");
        const chunk = [32, 64, 64];
        const shape = [256, 512, 512];
        const drawn = await page.evaluate(() => ({
          frame: ["width", "height"].map((name) => Number(document.querySelector("#grid .frame").getAttribute(name))),
          crops: [...document.querySelectorAll("#grid rect.crop")].map((rect) =>
            ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name))),
          ),
          cells: [...document.querySelectorAll("#grid text.cell")].map((one) => Number(one.textContent)).sort(),
          words: document.getElementById("grid-words").textContent,
        }));
        const [w, h] = drawn.frame;
        const wanted = crops.map((b) => [
          (b[across][0] / shape[across]) * w,
          (b[down][0] / shape[down]) * h,
          (128 / shape[across]) * w,
          ((b[down][1] - b[down][0]) / shape[down]) * h,
        ]);
        for (const [i, want] of wanted.entries())
          for (const [k, value] of want.entries()) assert.ok(Math.abs(drawn.crops[i][k] - value) < 0.11, `crop ${i}`);
        const columns = new Map();
        const seen = new Set();
        for (const bounds of crops) {
          const spans = bounds.map(([a, b], axis) =>
            Array.from(
              { length: Math.ceil(b / chunk[axis]) - Math.floor(a / chunk[axis]) },
              (_, k) => Math.floor(a / chunk[axis]) + k,
            ),
          );
          for (const z of spans[0])
            for (const y of spans[1])
              for (const x of spans[2]) {
                const at = [z, y, x];
                if (seen.has(String(at))) continue;
                seen.add(String(at));
                const key = `${at[down]},${at[across]}`;
                columns.set(key, (columns.get(key) ?? 0) + 1);
              }
        }
        assert.deepEqual(drawn.cells, [...columns.values()].sort());
        assert.match(drawn.words, new RegExp(`${seen.size} chunks in ${columns.size} columns touched by 8 crops`));
      }
      await page.context().close();
    });

    test("the advised chunk shape costs less than any one step from it, and can be tried", async () => {
      const page = await chromium.open(form);
      const fields = { ...ADVISED, shard: "" };
      await fill(page, fields);
      const crops = cropsOf(fields.shape, fields.crop, 6, "5");
      const needed = 6 * 12 * 20 * 16;
      const first = await page.$eval("#better-rows tr:nth-child(2)", (row) =>
        [...row.children].map((cell) => cell.textContent),
      );
      const best = first[0].split("×").map(Number);
      const counted = touched(best, crops).chunks;
      const waste = `${((counted * product(best)) / needed).toFixed(2)}×`;
      assert.equal(first[1], waste);
      assert.equal(Number(first[2].replaceAll(",", "")), counted);
      assert.ok(Math.abs(size(first[3]) / (product(best) * 2) - 1) < 0.005, first[3]);
      // The core's price: decoded bytes, and 16 KiB for each chunk; shapes of 16 KiB to 4 MiB.
      const price = (chunk) => touched(chunk, crops).chunks * (2 * product(chunk) + 16384);
      assert.ok(price(best) < 0.95 * price(numbers(fields.chunk)), first[0]);
      let judged = 0;
      for (const [axis, length] of numbers(fields.shape).entries()) {
        for (const extent of [Math.ceil(best[axis] / 2), Math.min(2 * best[axis], length)]) {
          const other = best.with(axis, extent);
          if (2 * product(other) < 16384 || 2 * product(other) > 4 << 20) continue;
          judged += 1;
          assert.ok(price(best) <= price(other), `${best} costs more than ${other}`);
        }
      }
      assert.ok(judged > 1);
      await page.click("#better-rows tr:nth-child(2) button");
      await settled(page);
      assert.deepEqual(numbers(await page.inputValue("#chunk")), best);
      assert.equal(await text(page, "decode-waste"), waste);
      assert.match(await text(page, "better-words"), /No other shape was found that costs less/);
      await page.context().close();
    });

    test("an advised layout says what becomes of the shards, and sets them", async () => {
      const page = await chromium.open(form);
      await fill(page, { ...ADVISED, shard: ADVISED.shape });
      assert.match(await text(page, "better-words"), /without shards would decode/);
      await page.click("#better-rows tr:nth-child(2) button");
      await settled(page);
      assert.equal(await page.inputValue("#shard"), "");
      // So many chunks that shards are advised.
      await fill(page, { type: "u8", shape: "4096, 4096, 4096", chunk: "512, 512, 1", crop: "64, 64, 64" });
      const words = await text(page, "better-words");
      const [, chunk, shard] = /^(.*) in shards of (.*) would decode/.exec(words);
      await page.click("#better-rows tr:nth-child(2) button");
      await settled(page);
      const list = (words) => words.split(" × ").join(", ");
      assert.deepEqual([await page.inputValue("#chunk"), await page.inputValue("#shard")], [list(chunk), list(shard)]);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("advice for 4,096 crops says what there is more of, and for how many crops it holds", async () => {
      const page = await chromium.open(form);
      const many = { shard: "", batch: "64", window: "64" };
      const advised = async (fields) => {
        await fill(page, { ...many, ...fields });
        return [await text(page, "better-words"), await page.$$eval("#better-rows tr", (rows) => rows.length)];
      };
      const [none, one] = await advised({ shape: "1024, 1024", chunk: "256, 512", crop: "16, 16" });
      assert.match(none, /^No other shape was found that costs less by 5 % or more\.$/);
      assert.equal(one, 1);
      const [more] = await advised({
        type: "u8",
        shape: "65536, 2048, 2048",
        chunk: "64, 1024, 1024",
        crop: "1, 1024, 1024",
      });
      assert.match(more, /in [\d,]+ chunks of .* instead of [\d,]+: more chunks, .* but fewer bytes\.$/);
      const [few] = await advised({ shape: "12, 120, 96", chunk: "12, 20, 16", crop: "12, 20, 16" });
      assert.match(few, /instead of 36: fewer chunks, .* not fewer bytes\.$/);
      const [first, two] = await advised({
        shape: "256, 4096, 4096",
        chunk: "64, 2048, 2048",
        crop: "1, 2048, 2048",
      });
      assert.match(first, /would decode .* hold for the first 64 crops: with all 4,096 it is more than this page plans\.$/);
      assert.equal(two, 2);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("the plan comes at once, the advice when typing has paused for 400 ms", async () => {
      const page = await chromium.open(form);
      const times = await page.evaluate(async () => {
        const at = (id) => document.getElementById(id);
        const when = (id, options, done) =>
          new Promise((resolve) => {
            const observer = new MutationObserver(() => {
              if (!done()) return;
              observer.disconnect();
              resolve(performance.now());
            });
            observer.observe(at(id), { subtree: true, ...options });
          });
        const type = (id, value) => {
          at(id).value = value;
          at(id).dispatchEvent(new Event("input", { bubbles: true }));
          return performance.now();
        };
        type("crop", "32, 64, 64");
        const planned = when("python", { childList: true }, () => true);
        const advised = when("better", { attributes: true }, () => at("better").ariaBusy === "false");
        // Another panel's input counts too.
        const last = await new Promise((resolve) => setTimeout(() => resolve(type("values", "1, 2")), 300));
        return { plan: await planned, last, advice: await advised };
      });
      assert.ok(times.plan < times.last, "the plan comes before an input 300 ms later");
      assert.ok(times.advice - times.last >= 399, `the advice came ${times.advice - times.last} ms after the last input`);
      await page.context().close();
    });
  });
}
