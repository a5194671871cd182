// The bytes of the core module -> damacy's functions. Importing this module loads nothing.
import { describe, fields } from "./check.js";
import { makeConvert } from "./convert.js";
import { Core } from "./core.js";
import { DamacyError } from "./errors.js";
import { makeEstimate } from "./estimate.js";
import { makeObjectKey, makeParseMetadata } from "./metadata.js";
import { Names } from "./names.js";
import { makePlan } from "./plan.js";
import type { Damacy } from "./types.js";

export { DamacyError, type Limit, type Place, type Status } from "./errors.js";
export type * from "./types.js";

/**
 * Compiles and starts a component of its own.
 *
 * @param options `wasm`: the bytes of `component.core.wasm`.
 * @throws {DamacyError} `INVAL` for bytes that are no such module, `UNSUPPORTED` on a big-endian machine.
 */
export async function load(options: { wasm: ArrayBufferView | ArrayBuffer }): Promise<Damacy> {
  const { wasm } = fields(options, "options");
  if (new Uint8Array(Uint16Array.of(1).buffer)[0] !== 1) {
    throw new DamacyError("UNSUPPORTED", "this machine is big-endian; damacy's arrays are little-endian");
  }
  const core = new Core(await compiled(wasm));
  const names = new Names(core);
  return {
    convert: makeConvert(core, names) as Damacy["convert"],
    parseMetadata: makeParseMetadata(core),
    objectKey: makeObjectKey(core, names),
    plan: makePlan(core, names),
    estimate: makeEstimate(core, names),
    dtypes: names.dtypes,
    sources: names.sources,
    memoryBytes: () => core.memoryBytes(),
  };
}

async function compiled(wasm: unknown): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(wasm as BufferSource);
  } catch (cause) {
    const given = wasm instanceof Error ? wasm.message : describe(wasm);
    throw new DamacyError(
      "INVAL",
      `options.wasm is ${given}; accepted are the bytes of component.core.wasm (${String(cause)})`,
      {
        cause,
      },
    );
  }
}
