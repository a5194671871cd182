// The package in Node: the core module is read from beside this one.
import { readFile } from "node:fs/promises";
import { load, type Damacy } from "./load.js";

export * from "./load.js";

const damacy: Damacy = await load({
  wasm: await readFile(new URL("./component/component.core.wasm", import.meta.url)),
});

export const { convert, parseMetadata, objectKey, plan, estimate, dtypes, sources, memoryBytes } = damacy;
