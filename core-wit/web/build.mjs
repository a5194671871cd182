// src, index.html, style.css and the npm package's dist -> dist/ (a static folder) and dist/damacy-explorer.html (one
// file that needs nothing else). `core-wit/js` must be built before.

import { access, cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bundle } from "./inline.mjs";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
const MODULE = "../js/dist/component/component.core.wasm";
await access(MODULE).catch(() => {
  console.error("error: core-wit/js is not built; run `npm ci && npm run build` there, or `make explorer`");
  process.exit(1);
});

/** Replaces exactly one place of a page; a page that has lost it fails the build. */
function swap(page, place, replacement) {
  if (page.split(place).length !== 2) throw new Error(`index.html should have ${place} once`);
  return page.replace(place, () => replacement);
}

const script = await bundle("src/main.js");
const page = await readFile("index.html", "utf8");
const style = await readFile("style.css", "utf8");
const module = await readFile(MODULE);

await rm("dist", { recursive: true, force: true });
await mkdir("dist/folder", { recursive: true });
await writeFile("dist/folder/index.html", page);
await writeFile("dist/folder/main.js", script);
await cp("style.css", "dist/folder/style.css");
await cp(MODULE, "dist/folder/component.core.wasm");

// A closing tag or a comment's start would end the script early, also inside a string.
const inlined = script.replace(/<\/(?=script)/gi, "<\\/").replaceAll("<!--", "<\\!--");
let single = swap(page, `<link rel="stylesheet" href="style.css">`, `<style>\n${style}</style>`);
single = swap(
  single,
  "script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; connect-src 'self'",
  "script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; connect-src 'none'",
);
single = swap(
  single,
  `<script type="module" src="main.js"></script>`,
  `<script type="text/plain" id="component-bytes">${module.toString("base64")}</script>\n` +
    `<script type="module">\n${inlined}</script>`,
);
await writeFile("dist/damacy-explorer.html", single);

const size = async (path) => `${Math.round((await stat(path)).size / 1024)} KiB`;
console.log(
  `${process.cwd()}/dist/damacy-explorer.html (${await size("dist/damacy-explorer.html")}): open it from disk`,
);
console.log(
  `${process.cwd()}/dist/folder: the same for a web server (its script: ${await size("dist/folder/main.js")})`,
);
