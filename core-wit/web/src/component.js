// The npm package's face over the component -> the few calls that the page makes. Nothing is computed here.

import { load } from "../../js/dist/load.js";

/** The core module's bytes: inlined in the page, or beside it. */
async function moduleBytes() {
  const inlined = document.getElementById("component-bytes");
  if (!inlined) return (await fetch("component.core.wasm")).arrayBuffer();
  return Uint8Array.from(atob(inlined.textContent.trim()), (char) => char.charCodeAt(0)).buffer;
}

/** Compiles and starts the component. */
export async function loadComponent() {
  const wasm = await moduleBytes();
  const { convert, parseMetadata, plan, estimate, dtypes, sources } = await load({ wasm });
  const bytesView = (elements) => new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength);
  return {
    moduleBytes: wasm.byteLength,
    outputs: dtypes,
    sources,
    /** Little-endian bytes of elements -> those of the converted elements. */
    convert: (source, output, elements) => bytesView(convert(elements, output, { source })),
    /** A document, as text or bytes -> the array. */
    parse: (format, document) => parseMetadata(document, { format }),
    plan,
    estimate,
  };
}

/** Whether an error is the component's answer, in a sentence for the reader, rather than a fault of the page. */
export const isRefusal = (error) => error?.name === "DamacyError" && error.status !== "INTERNAL";
