// Names of element types in any case -> the component's short names, from the component's own tables.
import { describe } from "./check.js";
import type { Core } from "./core.js";
import { DamacyError, invalid } from "./errors.js";
import type { Dtype, DtypeInfo, Source, SourceInfo } from "./types.js";

/** The component's tables of element types. */
export class Names {
  readonly dtypes: readonly DtypeInfo[];
  readonly sources: readonly SourceInfo[];
  /** Source types, for messages. */
  readonly sourceList: string;
  readonly #dtypes = new Map<string, Dtype>();
  readonly #sources = new Map<string, Source>();
  readonly #widths = new Map<Source, number>();

  constructor(core: Core) {
    const { outputs, sources } = core.call(({ dtypes }) => ({ outputs: dtypes.outputs(), sources: dtypes.sources() }));
    this.dtypes = frozen(outputs);
    this.sources = frozen(sources);
    for (const { dtype, fullName } of this.dtypes) this.#dtypes.set(dtype, dtype).set(fullName, dtype);
    for (const { source, fullName } of this.sources) this.#sources.set(source, source).set(fullName, source);
    for (const { source, width } of this.sources) this.#widths.set(source, width);
    this.sourceList = [...this.#sources.keys()].join(", ");
  }

  /** The output type of a name. */
  dtype(name: unknown, what: string): Dtype {
    const dtype = typeof name === "string" ? this.#dtypes.get(name.toLowerCase()) : undefined;
    if (dtype !== undefined) return dtype;
    throw invalid(`${what} is ${describe(name)}; accepted are ${[...this.#dtypes.keys()].join(", ")}`);
  }

  /** The source type of a name. */
  source(name: unknown, what: string): Source {
    const source = typeof name === "string" ? this.#sources.get(name.toLowerCase()) : undefined;
    if (source !== undefined) return source;
    throw new DamacyError("DTYPE", `${what} is ${describe(name)}; accepted are ${this.sourceList}`);
  }

  /** Bytes of an element. */
  sourceWidth(source: Source): number {
    return this.#widths.get(source)!;
  }
}

function frozen<T extends object>(rows: T[]): readonly T[] {
  return Object.freeze(rows.map((row) => Object.freeze(row)));
}
