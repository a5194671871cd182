// A zarr.json or .zarray, dropped, opened or pasted -> the array fields of the form, or why not.

import { LARGEST_DOCUMENT, facts, firstCrop, formatOf } from "./arrays.js";
import { isRefusal } from "./component.js";
import { byId, h } from "./dom.js";
import { bytes, formatExtents } from "./extents.js";

/** Wires the drop zone. `fill(fields)` takes what the document says. */
export function wireDocument(component, fill) {
  const zone = byId("drop");
  const input = byId("file");
  const read = async (file) => {
    if (file.size > LARGEST_DOCUMENT) {
      return say(
        file.name,
        `has ${bytes(file.size)}; a zarr.json or .zarray of up to ${bytes(LARGEST_DOCUMENT)} is accepted`,
      );
    }
    take(new Uint8Array(await file.arrayBuffer()), file.name);
  };
  const take = (document, name) => fromDocument(component, document, name, fill);

  byId("open").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files.length) read(input.files[0]);
    input.value = ""; // so that the same file can be opened again
  });
  let depth = 0; // dragenter and dragleave come for every child
  const dragging = (change) => (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return; // text may be dropped into fields
    event.preventDefault();
    depth = change ? depth + change : 0;
    zone.classList.toggle("dragging", depth > 0);
  };
  document.addEventListener("dragenter", dragging(1));
  document.addEventListener("dragleave", dragging(-1));
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    dragging(0)(event);
    const [file] = event.dataTransfer.files;
    if (file) read(file);
  });
  byId("document").addEventListener("input", (event) => {
    const text = event.target.value;
    if (text.trim()) take(new TextEncoder().encode(text), "The pasted document");
    else byId("document-said").replaceChildren();
  });
}

function say(name, problem) {
  byId("document-said").replaceChildren(h("p", { class: "error" }, `${name} ${problem}.`));
}

function fromDocument(component, document, name, fill) {
  const format = formatOf(new TextDecoder().decode(document), name);
  let array;
  try {
    array = component.parse(format, document);
    // A type without a conversion parses; the planner is who refuses it, in its own words.
    if (!array.source) refuseType(component, array);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return say(`${name}:`, error.message.replace(/\.$/, ""));
  }
  const shape = [...array.shape];
  const chunk = [...array.levels.at(-1)];
  const crop = firstCrop(shape, chunk);
  fill({
    type: array.source,
    shape: formatExtents(shape),
    chunk: formatExtents(chunk),
    shard: array.levels
      .slice(0, -1)
      .map((level) => formatExtents([...level]))
      .join(" / "),
    crop: formatExtents(crop),
    start: formatExtents(shape.map(() => 0n)),
    axes: "",
  });
  byId("document-said").replaceChildren(h("p", { class: "facts" }, h("b", {}, name), ` · ${facts(array)}`));
}

/** Throws the planner's refusal of an array's type. */
function refuseType(component, array) {
  const shape = [...array.shape].map(() => 1);
  const samples = [{ array: 0, bounds: shape.map(() => [0, 1]) }];
  component.plan({ spec: { samples: 1, shape, dtype: "f32" }, arrays: [array], samples });
}
