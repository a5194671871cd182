// The committed component -> dist/: jco's output in dist/component, the TypeScript face beside it, the licences.
//
// Nothing that jco generates is written by hand. Its declarations are taken of ../../wit, where the words are that
// describe each field: the component does not carry them.
import { spawnSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transpileBytes, writeFiles } from "@bytecodealliance/jco-transpile";
import { $init, generateTypes } from "@bytecodealliance/jco-transpile/component";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
await rm("dist", { recursive: true, force: true });
await mkdir("dist/component", { recursive: true });

const { files } = await transpileBytes(await readFile("../prebuilt/damacy-core.wasm"), {
  name: "component",
  outDir: "dist/component",
  // The caller compiles the core module, where it has the bytes from; a trapped instance is replaced without waiting.
  instantiation: "sync",
  minify: true,
  namespacedExports: false,
});
await writeFiles({ ...files, ...(await described(Object.keys(files))) });

/** The interfaces' declarations with the words of the WIT package, in the place of those without. */
async function described(undescribed) {
  const wit = (await readdir("../../wit")).filter((name) => name !== "world.wit");
  const texts = ["world.wit", ...wit].map((name) => readFile(`../../wit/${name}`, "utf8"));
  await $init;
  const generated = generateTypes("component", {
    wit: { tag: "source", val: (await Promise.all(texts)).join("\n") },
    world: "core",
    instantiation: { tag: "sync" },
    features: { tag: "list", val: [] },
  });
  const declared = {};
  for (const [name, bytes] of generated) {
    const path = `dist/component/${name}`;
    if (!name.startsWith("interfaces/")) continue;
    if (!undescribed.includes(path)) throw new Error(`the component lacks ${name}, which ../../wit has`);
    // The record `array` becomes an interface `Array`, which hides the built-in one.
    const text = new TextDecoder().decode(bytes).replaceAll(/\bArray</g, "globalThis.Array<");
    declared[path] = new TextEncoder().encode(text);
  }
  const missing = undescribed.filter((path) => path.includes("/interfaces/") && !(path in declared));
  if (missing.length) throw new Error(`../../wit lacks what the component has: ${missing}`);
  return declared;
}

const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
const { status } = spawnSync(process.execPath, [tsc, "--project", "tsconfig.json"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);

for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) await cp(`../../${name}`, `dist/${name}`);
