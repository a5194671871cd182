// Typed arrays or raw bytes -> elements of an output type.
//
// Everything is checked before the first block; no code of the caller's runs from the checks to the last write.
import { describe, oneOf, optional, typedArrayName } from "./check.js";
import type { Core } from "./core.js";
import { bytesOf, checkOutput, naturalSource, newOutput, type OutputArray } from "./elements.js";
import { invalid } from "./errors.js";
import type { Names } from "./names.js";
import type { ByteOrder, Source } from "./types.js";

/** Bytes of a block, in the wider of source and output type: the copies in and out stay in the CPU's caches. */
const BLOCK_BYTES = 128 << 10;

const OPTIONS = ["source", "byteOrder", "out"] as const;

/** The source as bytes, and how to read them. */
interface Elements {
  bytes: Uint8Array<ArrayBuffer>;
  source: Source;
  order: ByteOrder;
}

/** Makes `convert` of a component. */
export function makeConvert(core: Core, names: Names) {
  return (from: unknown, to: unknown, options: unknown = {}): OutputArray => {
    const dtype = names.dtype(to, "dtype");
    const { source: named, byteOrder, out: given } = optional(options, "options", OPTIONS);
    const { bytes, source, order } = read(from, named, byteOrder, names);
    const width = names.sourceWidth(source);
    if (bytes.length % width !== 0) {
      throw invalid(
        `the source has ${bytes.length} bytes; accepted for ${source} is a multiple of ${width}`,
      );
    }
    const length = bytes.length / width;
    const out = given === undefined ? newOutput(dtype, length) : checkOutput(given, dtype, length);
    const target = new Uint8Array(out.buffer, out.byteOffset, length * out.BYTES_PER_ELEMENT);
    if (overlap(bytes, target)) {
      throw invalid(
        `out is written at ${place(target)} of a buffer and the source lies at ${place(bytes)} of the same: they overlap; ` +
          "accepted is memory of its own",
      );
    }

    const step = (BLOCK_BYTES / Math.max(width, out.BYTES_PER_ELEMENT)) * width;
    core.call(({ convert }) => {
      for (let start = 0, written = 0; start < bytes.length; start += step) {
        const block = convert.elements(source, order, dtype, bytes.subarray(start, start + step));
        target.set(block, written);
        written += block.length;
      }
    });
    return out;
  };
}

function read(from: unknown, named: unknown, byteOrder: unknown, names: Names): Elements {
  const kind = typedArrayName(from);
  const buffer = kind === undefined && !ArrayBuffer.isView(from);
  if (buffer && Object.prototype.toString.call(from) !== "[object ArrayBuffer]") {
    throw invalid(
      `the source is ${describe(from)}; accepted are typed arrays, and raw bytes as Uint8Array, ArrayBuffer or DataView`,
    );
  }
  const raw = kind === undefined || kind === "Uint8Array";
  if (kind === undefined && named === undefined) {
    throw invalid(`the source is raw bytes and options.source is undefined; accepted there are ${names.sourceList}`);
  }
  const natural = kind === undefined ? undefined : naturalSource(kind);
  const source = named === undefined ? natural! : names.source(named, "options.source");
  if (!raw && source !== natural && !(natural === "u16" && source === "f16")) {
    throw invalid(
      `options.source is ${describe(named)} for a ${kind}; accepted is ${natural}${natural === "u16" ? " or f16" : ""}: ` +
        "other types are read from raw bytes (Uint8Array, ArrayBuffer, DataView)",
    );
  }
  const order = byteOrder === undefined ? "little" : oneOf(byteOrder, "options.byteOrder", ["little", "big"] as const);
  if (!raw && order === "big") {
    throw invalid(
      `options.byteOrder is "big" for a ${kind}; accepted is "little": a typed array's elements are numbers already`,
    );
  }
  return { bytes: bytesOf(from as ArrayBuffer | ArrayBufferView, "the source"), source, order };
}

const place = ({ byteOffset, length }: Uint8Array): string => `bytes ${byteOffset} to ${byteOffset + length}`;

function overlap(a: Uint8Array, b: Uint8Array): boolean {
  return a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.length && b.byteOffset < a.byteOffset + a.length;
}
