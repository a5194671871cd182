// The page in headless Chromium, in both forms: a static folder behind a local server, and one file from disk.

import { createServer } from "node:http";
import { access, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch, visit } from "./chromium.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
/** Where screenshots go; git ignores it. */
export const SCREENSHOTS = at("../screenshots/");
/** The repository. */
export const ROOT = at("../../../");
const FOLDER = at("../dist/folder/");
const SINGLE = at("../dist/damacy-explorer.html");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** Starts the server and Chromium. */
export async function start() {
  await access(SINGLE).catch(() => {
    throw new Error("dist is not built; run `node build.mjs` first (`make test-web` does)");
  });
  const server = createServer(async (request, response) => {
    const path = request.url === "/" ? "index.html" : request.url.slice(1);
    try {
      const body = await readFile(FOLDER + path);
      response.writeHead(200, { "content-type": TYPES[extname(path)] }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const browser = await launch();
  const origin = `http://127.0.0.1:${server.address().port}`;
  const urls = { folder: `${origin}/`, file: pathToFileURL(SINGLE).href };

  /** Opens a form; the returned page knows its `problems` (console and page errors) and `requests`. */
  const open = async (form, { hash = "", ...options } = {}) => {
    const page = await visit(browser, urls[form] + hash, options);
    await page.waitForSelector("#app:not([hidden])");
    await settled(page);
    return page;
  };
  const stop = async () => {
    await browser.close();
    await new Promise((done) => server.close(done));
  };
  return { open, stop, urls };
}

/** Waits until the values, the plan and the proposals are those of the fields. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelectorAll("#app [aria-busy=true]").length === 0);
}

/** Fills several fields and waits. */
export async function fill(page, fields) {
  for (const [id, value] of Object.entries(fields)) {
    const select = await page.$eval(`#${id}`, (field) => field.tagName === "SELECT");
    if (select) await page.selectOption(`#${id}`, value);
    else await page.fill(`#${id}`, value);
  }
  await settled(page);
}

/** The table of converted values as rows of { source, sourceBits, output, outputBits, mark, detail }. */
export const rows = (page) =>
  page.$$eval("#results tr", (list) =>
    list.map((row) => {
      const text = (selector) => row.querySelector(selector)?.textContent.trim();
      return {
        source: text(".element .number"),
        sourceBits: text(".element small"),
        output: text(".out .number"),
        outputBits: text(".out small"),
        mark: row.querySelector(".mark").lastChild.textContent.trim(),
        detail: text(".detail") ?? "",
      };
    }),
  );

/** The text of an element. */
export const text = (page, id) => page.textContent(`#${id}`);
