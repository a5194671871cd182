// The bytes of the core module -> a running component, and calls of it whose failures are DamacyErrors.
//
// After a trap the instance is dropped, and the next call starts a new one: a trap fails one call alone.
import { instantiate, type Root } from "./component/component.js";
import type { Error as ComponentError } from "./component/interfaces/damacy-core-types.js";
import { DamacyError, type Status } from "./errors.js";

/** The component's error cases. */
const STATUSES: Readonly<Record<ComponentError["tag"], Status>> = {
  "invalid-argument": "INVAL",
  "unconvertible-type": "DTYPE",
  "rank-mismatch": "RANK",
  malformed: "DECODE",
  "over-budget": "BUDGET",
  unsupported: "UNSUPPORTED",
  internal: "INTERNAL",
};

/** One component, started on first use. */
export class Core {
  readonly #module: WebAssembly.Module;
  #root: Root | undefined;
  #memory: WebAssembly.Memory | undefined;

  constructor(module: WebAssembly.Module) {
    this.#module = module;
  }

  /** Bytes of the component's memory. */
  memoryBytes(): number {
    return this.#memory?.buffer.byteLength ?? 0;
  }

  /** Runs `work` on the component. */
  call<T>(work: (root: Root) => T): T {
    this.#root ??= this.#start();
    try {
      return work(this.#root);
    } catch (thrown) {
      if (isComponentError(thrown)) throw translated(thrown);
      this.#root = undefined;
      this.#memory = undefined;
      throw new DamacyError("INTERNAL", `the component stopped (${String(thrown)}); the next call starts it anew`, {
        cause: thrown,
      });
    }
  }

  #start(): Root {
    return instantiate(
      () => this.#module,
      {},
      (module, imports) => {
        const instance = new WebAssembly.Instance(module, imports);
        this.#memory = instance.exports["memory"] as WebAssembly.Memory;
        return instance;
      },
    );
  }
}

function isComponentError(thrown: unknown): thrown is ComponentError {
  return typeof thrown === "object" && thrown !== null && "tag" in thrown && "val" in thrown;
}

function translated({ tag, val }: ComponentError): DamacyError {
  const message = val.path === "" ? val.message : `${val.message} (at ${val.path})`;
  return new DamacyError(STATUSES[tag], message, {
    sample: val.sample === undefined ? undefined : Number(val.sample),
    array: val.array,
    path: val.path === "" ? undefined : val.path,
    limit: val.limit && { ...val.limit, name: val.limit.name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()) },
  });
}
