// The committed component -> dist/: jco's output in dist/component, the TypeScript face beside it, the licences.
//
// Nothing else is generated, and nothing that jco generates is written by hand.
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transpileBytes, writeFiles } from "@bytecodealliance/jco-transpile";

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
await writeFiles(files);

const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
const { status } = spawnSync(process.execPath, [tsc, "--project", "tsconfig.json"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);

for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) await cp(`../../${name}`, `dist/${name}`);
