// Shape, chunk and shard shapes, type -> the array as the planner sees it, and a document -> those fields.
//
// The form's fields become a Zarr v3 document, which the component parses: what it accepts is what counts.

const NAMES = { u: "uint", i: "int", f: "float" };
/** `u16` -> `uint16`. */
export const fullName = (type) => type.replace(/^(bf|[uif])/, (letter) => (letter === "bf" ? "bfloat" : NAMES[letter]));

const list = (extents) => `[${extents.join(",")}]`; // by hand: JSON.stringify knows no 64-bit numbers
const ENDIAN = `{"name":"bytes","configuration":{"endian":"little"}}`;

/** A v3 document. `levels` are chunk shapes, outermost first; each but the last is a shard of the next. */
export function documentOf({ type, shape, levels }) {
  const codecs = levels
    .slice(1)
    .reverse()
    .reduce(
      (inside, chunk) =>
        `{"name":"sharding_indexed","configuration":{"chunk_shape":${list(chunk)},"codecs":[${inside}],` +
        `"index_codecs":[${ENDIAN},{"name":"crc32c"}]}}`,
      ENDIAN,
    );
  return (
    `{"zarr_format":3,"node_type":"array","shape":${list(shape)},"data_type":"${fullName(type)}",` +
    `"chunk_grid":{"name":"regular","configuration":{"chunk_shape":${list(levels[0])}}},` +
    `"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[${codecs}]}`
  );
}

/** Which format a document is: by its own word, else by its name. */
export function formatOf(text, name = "") {
  const word = wordOf(text);
  if (word === 2 || word === 3) return `v${word}`;
  return name.endsWith(".zarray") ? "v2" : "v3";
}

/** The document's zarr_format, also where it is no JSON that JavaScript reads (NaN, Infinity). */
function wordOf(text) {
  try {
    return JSON.parse(text)?.zarr_format;
  } catch {
    return Number(/"zarr_format"\s*:\s*(\d+)/.exec(text)?.[1]);
  }
}

/** The largest document read; the component's own limit. */
export const LARGEST_DOCUMENT = 4 << 20;

/** A parsed array's facts in one line. */
export function facts(array) {
  const parts = [`Zarr ${array.format}`, array.dataType];
  if (array.codecs.length) parts.push(array.codecs.join(" → "));
  if (array.byteOrder === "big") parts.push("big-endian");
  if (array.layout === "f") parts.push("first axis fastest");
  parts.push(
    `fill ${
      array.fillValue.length
        ? `0x${[...array.fillValue]
            .reverse()
            .map((b) => b.toString(16).padStart(2, "0"))
            .join("")}`
        : "unknown"
    }`,
  );
  return parts.join(" · ");
}

/** A crop shape to begin with: a batch's worth of a few chunks, no larger than the array. */
export function firstCrop(shape, chunk) {
  return shape.map((extent, axis) => {
    const wanted = 2n * chunk[axis];
    return extent === 0n ? 1n : wanted < extent ? wanted : extent;
  });
}
