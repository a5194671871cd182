// The package where there is fetch (browsers, Deno): the core module is fetched from beside this one.
import { DamacyError, load, type Damacy } from "./load.js";

export * from "./load.js";

async function fetched(url: URL): Promise<ArrayBuffer> {
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`HTTP status ${response.status}`);
    return await response.arrayBuffer();
  } catch (cause) {
    throw new DamacyError(
      "INVAL",
      `cannot fetch ${url} (${String(cause)}); where it cannot be fetched, use load({ wasm })`,
      { cause },
    );
  }
}

const damacy: Damacy = await load({ wasm: await fetched(new URL("./component/component.core.wasm", import.meta.url)) });

/** {@inheritDoc Damacy.convert} */
export const convert = damacy.convert;
/** {@inheritDoc Damacy.parseMetadata} */
export const parseMetadata = damacy.parseMetadata;
/** {@inheritDoc Damacy.objectKey} */
export const objectKey = damacy.objectKey;
/** {@inheritDoc Damacy.plan} */
export const plan = damacy.plan;
/** {@inheritDoc Damacy.estimate} */
export const estimate = damacy.estimate;
/** {@inheritDoc Damacy.dtypes} */
export const dtypes = damacy.dtypes;
/** {@inheritDoc Damacy.sources} */
export const sources = damacy.sources;
/** {@inheritDoc Damacy.memoryBytes} */
export const memoryBytes = damacy.memoryBytes;
