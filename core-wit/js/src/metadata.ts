// A metadata document -> the array it describes; arrays, also ones made by hand -> what the component takes.
import type * as metadata from "./component/interfaces/damacy-core-metadata.js";
import { describe, fields, list, oneOf, optional, text, typedArrayName, u32, u64, u64s } from "./check.js";
import type { Core } from "./core.js";
import { bytesOf } from "./elements.js";
import { DamacyError, invalid } from "./errors.js";
import type { Names } from "./names.js";
import type { ArrayMetadata } from "./types.js";

const FORMATS = ["v2", "v3"] as const;
const LIMITS = ["maxBytes", "maxDepth", "maxValues", "maxRank", "maxCodecs"] as const;

/** Makes `parseMetadata` of a component. */
export function makeParseMetadata(core: Core) {
  return (document: unknown, options: unknown): ArrayMetadata => {
    const { format: named, limits: given = {} } = optional(options, "options", ["format", "limits"]);
    const format = oneOf(named, "options.format", FORMATS);
    const {
      maxBytes = 4 << 20,
      maxDepth = 64,
      maxValues = 1 << 18,
      maxRank = 32,
      maxCodecs = 64,
    } = optional(given, "options.limits", LIMITS);
    const limits = {
      maxBytes: u64(maxBytes, "options.limits.maxBytes"),
      maxDepth: u32(maxDepth, "options.limits.maxDepth"),
      maxValues: u64(maxValues, "options.limits.maxValues"),
      maxRank: u32(maxRank, "options.limits.maxRank"),
      maxCodecs: u32(maxCodecs, "options.limits.maxCodecs"),
    };
    const bytes = documentBytes(document);
    // The component refuses it too, but only after a copy into its memory, which never shrinks.
    if (BigInt(bytes.length) > limits.maxBytes) {
      throw new DamacyError(
        "BUDGET",
        `the document has ${bytes.length} bytes, and maxBytes is ${limits.maxBytes}`,
        { limit: { name: "maxBytes", value: limits.maxBytes, asked: BigInt(bytes.length) } },
      );
    }
    return core.call(({ metadata }) => metadata.parse(format, bytes, limits));
  };
}

/** Makes `objectKey` of a component. */
export function makeObjectKey(core: Core, names: Names) {
  return (array: unknown, coords: unknown): string => {
    const checked = arrayInput(array, "array", names);
    const numbers = u64s(coords, "coords");
    if (numbers.length !== checked.shape.length) {
      throw new DamacyError(
        "RANK",
        `coords has ${numbers.length} numbers; accepted are ${checked.shape.length}, the array's axes`,
      );
    }
    return core.call(({ metadata }) => metadata.objectKey(checked, numbers));
  };
}

/** An array for the planner: every field read once and checked. */
export function arrayInput(value: unknown, what: string, names: Names): metadata.Array {
  const array = fields(value, what);
  const key = fields(array["keyEncoding"], `${what}.keyEncoding`);
  const source = array["source"];
  const fill = array["fillValue"];
  if (typedArrayName(fill) !== "Uint8Array") {
    throw invalid(`${what}.fillValue is ${describe(fill)}; accepted is a Uint8Array of one element, or an empty one`);
  }
  return {
    format: oneOf(array["format"], `${what}.format`, FORMATS),
    shape: u64s(array["shape"], `${what}.shape`),
    dataType: text(array["dataType"], `${what}.dataType`),
    ...(source === undefined || source === null ? {} : { source: names.source(source, `${what}.source`) }),
    byteOrder: oneOf(array["byteOrder"], `${what}.byteOrder`, ["little", "big"] as const),
    layout: oneOf(array["layout"], `${what}.layout`, ["c", "f"] as const),
    levels: list(array["levels"], `${what}.levels`, u64s),
    keyEncoding: {
      style: oneOf(key["style"], `${what}.keyEncoding.style`, ["default", "v2"] as const),
      separator: oneOf(key["separator"], `${what}.keyEncoding.separator`, ["/", "."] as const),
    },
    fillValue: bytesOf(fill as Uint8Array, `${what}.fillValue`),
    codecs: list(array["codecs"], `${what}.codecs`, text),
  };
}

function documentBytes(document: unknown): Uint8Array {
  if (typeof document === "string") return new TextEncoder().encode(document);
  if (
    typedArrayName(document) === "Uint8Array" ||
    Object.prototype.toString.call(document) === "[object ArrayBuffer]"
  ) {
    return bytesOf(document as Uint8Array | ArrayBuffer, "the document");
  }
  if (typeof document !== "object" || document === null || Array.isArray(document) || ArrayBuffer.isView(document)) {
    throw invalid(
      `the document is ${describe(document)}; accepted are text, bytes (Uint8Array, ArrayBuffer) and objects`,
    );
  }
  try {
    return new TextEncoder().encode(JSON.stringify(document, exactNumbers));
  } catch (cause) {
    if (cause instanceof DamacyError) throw cause;
    throw new DamacyError(
      "INVAL",
      `the document is an object that JSON cannot hold (${String(cause)}); give its text`,
      { cause },
    );
  }
}

/** Refuses numbers that are not what the document said, or would not be written as they are. */
function exactNumbers(key: string, value: unknown): unknown {
  if (
    typeof value === "number" &&
    (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
  ) {
    throw invalid(
      `the document's "${key}" is ${value}; an object holds integers up to 2^53 - 1 and finite numbers: JSON.parse rounds ` +
        "others, so give the document's text or bytes",
    );
  }
  return value;
}
