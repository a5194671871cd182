// Reports in headless Chromium: of a real smoke run, of made-up results with peers, of a sweep with hostile names, of a
// comparison. DAMACY names the program, and CHROMIUM the browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { PHONE, contrasts, launch, visit } from "../../../core-wit/web/tests/chromium.mjs";
import { EVIL, faster, sweep, withPeers } from "./made-up.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const DAMACY = process.env.DAMACY || at("../../../target/release/damacy");
const SCREENSHOTS = at("screenshots/");
const PARTS = ["speed", "scenario", "stages", "timeline", "waste", "decodes", "ceiling", "memory"];
const SMALL = { ...PHONE, deviceScaleFactor: 1 };
const VIEWS = {
  desktop: { colorScheme: "light" },
  "desktop-dark": { colorScheme: "dark" },
  phone: { ...SMALL, colorScheme: "light" },
  "phone-dark": { ...SMALL, colorScheme: "dark" },
};

let browser;
let folder;
const path = (name) => join(folder, name);

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  folder = mkdtempSync(join(tmpdir(), "damacy-report-"));
  const damacy = (...words) => execFileSync(DAMACY, ["bench", ...words], { stdio: ["ignore", "pipe", "inherit"] });
  damacy("smoke", "--repeat", "5", "--quiet", "--out", path("smoke"));
  const smoke = JSON.parse(readFileSync(path("smoke/results.json"), "utf8"));
  const made = { peers: withPeers(smoke), sweep: sweep(smoke), other: faster(smoke) };
  for (const [name, results] of Object.entries(made)) {
    writeFileSync(path(`${name}.json`), JSON.stringify(results));
    damacy("report", path(`${name}.json`), "--html", path(`${name}.html`));
  }
  damacy("compare", path("smoke/results.json"), path("other.json"), "--html", path("compare.html"));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const open = (file, view) => visit(browser, pathToFileURL(path(file)).href, VIEWS[view]);
const parts = (page, within) =>
  page.$$eval(`${within} [data-part]`, (list) => list.map((one) => one.dataset.part));

const PAGES = [
  ["smoke/report.html", "smoke"],
  ["peers.html", "peers"],
  ["sweep.html", "sweep"],
  ["compare.html", "compare"],
];
for (const [file, name] of PAGES) {
  describe(`report: ${name}`, () => {
    for (const view of Object.keys(VIEWS)) {
      test(`${view}: nothing asked for, nothing wider than the screen, all text with contrast`, async () => {
        const page = await open(file, view);
        assert.deepEqual(page.requests, [pathToFileURL(path(file)).href]);
        const { width } = page.viewportSize();
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        // Chromium cannot always take pictures higher than 16,384 pixels.
        const height = Math.min(await page.evaluate(() => document.documentElement.scrollHeight), 12_000);
        const clip = { x: 0, y: 0, width, height };
        await page.screenshot({ path: `${SCREENSHOTS}${name}-${view}.png`, fullPage: true, clip });
        await page.$$eval("details", (list) => list.forEach((one) => (one.open = true)));
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, "with all details open");
        assert.deepEqual(await page.evaluate(contrasts, { pictures: true }), []);
        assert.deepEqual(await page.evaluate(beyond), [], "texts of pictures outside of them");
        assert.deepEqual(page.problems, []);
        await page.context().close();
      });
    }

    test("its structure tells a reader without eyes the same", async () => {
      const page = await open(file, "desktop");
      assert.deepEqual(await page.evaluate(structure), []);
      assert.equal(await page.evaluate(() => document.scripts.length + document.images.length), 0);
      await page.context().close();
    });

    test("a keyboard reaches all links, details and wide tables, with a visible focus", async () => {
      const page = await open(file, "phone");
      const there = await page.$$eval("a, summary, [tabindex='0']", (list) => list.filter((one) => one.checkVisibility()).length);
      let seen = 0;
      for (; seen <= there + 5; seen += 1) {
        await page.keyboard.press("Tab");
        const focus = await page.evaluate(() => {
          const one = document.activeElement;
          if (one === document.body) return undefined;
          const { outlineStyle, outlineWidth } = getComputedStyle(one);
          return { tag: one.outerHTML.slice(0, 80), outline: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
        });
        if (!focus) break;
        assert.ok(focus.outline, focus.tag);
      }
      assert.ok(seen >= there, `${seen} of ${there}`);
      await page.context().close();
    });

    test("it can be printed, with what is folded away", async () => {
      const page = await open(file, "desktop-dark");
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
      const folded = await page.$$eval("details > :not(summary)", (list) => list.filter((one) => !one.checkVisibility({ contentVisibilityAuto: true })).length);
      assert.equal(folded, 0);
      assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
      await page.context().close();
    });
  });
}

test("every section of a run is there, with its sentence", async () => {
  for (const [file, more] of [
    ["smoke/report.html", []],
    ["peers.html", ["peers"]],
  ]) {
    const page = await open(file, "desktop");
    assert.deepEqual(await parts(page, "article"), [...PARTS, ...more, "checks"]);
    const leads = await page.$$eval("article section", (list) =>
      list.map((one) => one.querySelector("h3 + .lead")?.textContent.length ?? 0),
    );
    assert.ok(leads.every((length) => length > 60), leads.join());
    assert.match(await page.textContent("#machine"), /processor.*command/s);
    await page.context().close();
  }
});

test("the figures are those of the results", async () => {
  const results = JSON.parse(readFileSync(path("smoke/results.json"), "utf8"));
  const [run] = results.runs;
  const page = await open("smoke/report.html", "desktop");
  const rate = Number((await page.textContent(".headline strong")).replaceAll(",", ""));
  assert.ok(Math.abs(rate / run.summary.samples_per_s.median - 1) < 1e-3);
  assert.equal(await page.$$eval("[data-part=timeline] rect.held[x]", (list) => list.length - 1), run.timeline.batches.length);
  const windows = new Set(run.timeline.batches.map(({ window }) => window)).size;
  assert.equal(await page.$$eval("[data-part=timeline] figure line.window", (list) => list.length), windows);
  const widths = await page.$$eval("[data-part=stages] figure:first-of-type rect.ours", (list) =>
    list.slice(0, 5).map((one) => one.getBoundingClientRect().width),
  );
  const median = (stage) => run.rounds.map(({ stages }) => stages[stage].busy_s).sort((a, b) => a - b)[2];
  const [read, decode] = ["read", "decode"].map(median);
  assert.ok(Math.abs(widths[3] / widths[2] - decode / read) < 0.02, `${widths} ${read} ${decode}`);
  await page.context().close();
});

test("peers: ratio, search with the chosen setting, differences, and those that did not run", async () => {
  const page = await open("peers.html", "desktop");
  const text = await page.innerText("[data-part=peers]");
  for (const part of ["1.49 (1.39 to 1.61) times as many samples a second as tensorstore: more in every round",
    "no difference is shown", "cache: 128 MiB", "bit for bit", "1,203 of 786,432", "no module named zarrs"])
    assert.ok(text.includes(part), `${part} in ${text}`);
  const [all, part] = await page.$$("[data-part=peers] details");
  await page.click("[data-part=peers] summary");
  const rows = (details) => details.$$eval("tbody tr", (list) => list.map((row) => row.innerText.split("\t").map((cell) => cell.trim())));
  const marked = (details) => details.$$eval(".chart g", (list) => list.filter((one) => one.textContent.includes("✓")).length);
  assert.equal((await rows(all)).length, 18);
  assert.equal(await marked(all), 1);
  // The fastest of the five that had whole passes comes first; the others have a first look alone.
  await part.evaluate((details) => { details.open = true; });
  assert.match(await part.innerText(), /all 18 settings looked at on the first 2 of 12 batches, 5 of them then tried on the whole pass/);
  const table = await rows(part);
  assert.deepEqual(table.map((row) => row[2] !== "–"), [...Array(18)].map((_, index) => index < 5));
  assert.equal(await marked(part), 2);
  assert.match(await page.textContent("[data-part=decodes]"), /tensorstore's: its cache avoids the same decodes, so none of the lead/);
  await page.context().close();
});

test("a sweep has its chart, and hostile names stay text", async () => {
  const page = await open("sweep.html", "phone-dark");
  assert.equal(await page.$$eval("#sweep table tbody tr", (list) => list.length), 10);
  assert.match(await page.textContent("#sweep .lead"), /not comparable between widths/);
  assert.match(await page.textContent(".verdict"), /✗ 1 of/);
  assert.ok((await page.textContent("article:last-of-type h2")).startsWith(EVIL));
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.context().close();
});

test("a comparison says what is beyond noise, and why it may be unfair", async () => {
  const page = await open("compare.html", "desktop");
  assert.match(await page.textContent("[data-part=summary]"), /1 better beyond noise, 1 worse beyond noise.*machines differ/s);
  assert.equal(await page.$$eval("[data-part=figures] tbody tr", (list) => list.length), 7);
  await page.context().close();
});

/** Runs in the page: texts of pictures that leave them. */
function beyond() {
  return [...document.querySelectorAll("figure text")]
    .filter((one) => {
      const [inner, outer] = [one.getBoundingClientRect(), one.closest("svg").getBoundingClientRect()];
      return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 3);
    })
    .map((one) => one.textContent);
}

/** Runs in the page: what a screen reader would miss. */
function structure() {
  const wrong = [];
  let last = 0;
  for (const one of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = Number(one.tagName[1]);
    if (level > last + 1) wrong.push(`${one.tagName} after H${last}: ${one.textContent}`);
    last = level;
  }
  if (document.querySelectorAll("h1").length !== 1) wrong.push("one h1");
  if (!document.documentElement.lang || !document.title) wrong.push("language and title");
  for (const one of document.querySelectorAll("figure svg"))
    if (one.getAttribute("role") !== "img" || !one.getAttribute("aria-label")) wrong.push("a picture without a name");
  for (const one of document.querySelectorAll("figure g")) if (!one.querySelector("title")) wrong.push("a mark without a name");
  for (const one of document.querySelectorAll("table"))
    if (!one.caption || !one.querySelector("thead th[scope=col]") || !one.querySelector("th[scope=row]")) wrong.push(`table ${one.caption?.textContent}`);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  for (const one of document.querySelectorAll("a[href^='#']"))
    if (!document.getElementById(one.hash.slice(1))) wrong.push(`nothing at ${one.hash}`);
  return wrong;
}
