// The plan's fields in Chromium, in both forms: documents that fill them, and values that they refuse.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { ROOT, fill, settled, start, text } from "./browser.mjs";
import { cropsOf, touched } from "./counting.mjs";

let chromium;
before(async () => (chromium = await start()));
after(() => chromium.stop());

for (const form of ["folder", "file"]) {
  describe(`fields, ${form}`, () => {
    test("a dropped zarr.json and .zarray fill the fields", async () => {
      const page = await chromium.open(form);
      const drop = async (path, name) => {
        const data = await page.evaluateHandle(
          ([content, name]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([content], name));
            return transfer;
          },
          [readFileSync(`${ROOT}tests/fixtures/stores/${path}`, "utf8"), name],
        );
        await page.dispatchEvent("#drop", "drop", { dataTransfer: data });
        await page.waitForFunction((name) => document.getElementById("document-said").textContent.includes(name), name);
        await settled(page);
      };
      await drop("v3-shard-nested-start/zarr.json", "zarr.json");
      const values = (ids) => Promise.all(ids.map((id) => page.inputValue(`#${id}`)));
      assert.deepEqual(await values(["type", "shape", "chunk", "shard", "crop"]), [
        "u16",
        "9, 20, 12",
        "2, 5, 3",
        "8, 10, 12 / 4, 10, 6",
        "4, 10, 6",
      ]);
      assert.match(await text(page, "document-said"), /sharding_indexed/);
      const crops = cropsOf("9,20,12", "4,10,6", 8, "1");
      assert.equal(await text(page, "chunks-touched"), String(touched([2, 5, 3], crops).chunks));
      await drop("v2-big-f2/.zarray", ".zarray");
      assert.equal(await page.inputValue("#type"), "f16");
      assert.equal(await page.inputValue("#shard"), "");
      assert.match(await text(page, "document-said"), /Zarr v2.*big-endian/);
      await drop("v2-rank0/.zarray", ".zarray");
      assert.equal(await page.inputValue("#shape"), "");
      assert.equal(await text(page, "chunks-touched"), "1");
      const before = await page.inputValue("#shape");
      await drop("v3-float64/zarr.json", "zarr.json");
      assert.match(await text(page, "document-said"), /float64/);
      assert.equal(await page.inputValue("#shape"), before);
      const chooser = page.waitForEvent("filechooser");
      await page.focus("#open");
      await page.keyboard.press("Enter");
      await (await chooser).setFiles(`${ROOT}tests/fixtures/stores/v3-transpose/zarr.json`);
      await page.waitForFunction(() => document.getElementById("document-said").textContent.includes("transpose"));
      await page.click("#drop summary");
      await page.fill("#document", `{"zarr_format": 3, "node_type": "array", "shape": [4`);
      assert.match(await text(page, "document-said"), /pasted document/);
      assert.equal(await page.$$eval("#document-said .error", (list) => list.length), 1);
      await page.fill("#document", readFileSync(`${ROOT}tests/fixtures/stores/v3-rank5/zarr.json`, "utf8"));
      await settled(page);
      assert.equal((await page.inputValue("#shape")).split(",").length, 5);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });

    test("bad fields are named beside them, and the page recovers", async () => {
      const page = await chromium.open(form);
      const good = await text(page, "decode-waste");
      for (const [field, value, message] of [
        ["shape", "a, b", /“a” is no extent/],
        ["shape", "0, 512, 512", /no elements/],
        ["chunk", "32, 64", /2 axes, the array has 3/],
        ["chunk", "0, 64, 64", /Chunk shape, axis 0: .*found 0/],
        ["shard", "100, 256, 256", /100/],
        ["shard", "128, 0, 256", /Shard shape, axis 1: .*found 0/],
        ["crop", "257, 1, 1", /1 to 256/],
        ["crop", "0, 1, 1", /1 to 256/],
        ["batch", "0", /1 to 4096/],
        ["batch", "1e3", /1 to 4096/],
        ["window", "5000", /1 to 4096/],
        ["window", "1000", /8000 samples/],
        ["ratio", "lots", /“lots” given; a ratio/],
        ["ratio", "-1", /a ratio/],
        ["ratio", "0", /above 0/],
      ]) {
        const kept = await page.inputValue(`#${field}`);
        await fill(page, { [field]: value });
        const said = await page.$$eval(".form .error", (list) =>
          list.map((one) => [one.id, one.textContent]).filter(([, text]) => text),
        );
        assert.equal(said.length, 1, `${field}=${value}: ${JSON.stringify(said)}`);
        assert.match(said[0][1], message, `${field}=${value}`);
        const id = said[0][0].replace("-error", "");
        // Shards that chunks do not divide may be said at either.
        assert.ok(id === field || (field === "shard" && id === "chunk"), `${field}=${value} is said at ${id}`);
        assert.equal(await page.getAttribute(`#${id}`, "aria-invalid"), "true");
        assert.ok(await page.isVisible("#plan-stale"));
        await fill(page, { [field]: kept });
        assert.equal(await text(page, "decode-waste"), good);
        assert.ok(await page.isHidden("#plan-stale"));
      }
      await page.check("#mode-given");
      await fill(page, { start: "200, 0, 0" });
      assert.match(await text(page, "start-error"), /200 on axis 0 given; 0 to 192/);
      await fill(page, {
        start: "0,0,0",
        shard: "",
        shape: "9223372036854775807, 512, 512",
        chunk: "1, 1, 1",
        crop: "4096, 512, 512",
      });
      const said = await page.$$eval(".form .error", (list) =>
        list
          .map((one) => one.textContent)
          .filter(Boolean)
          .join(),
      );
      assert.match(said, /max_chunks/);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });
  });
}
