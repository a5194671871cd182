// A plan -> a drawing of the chunk grid along two axes, with the crops over it (SVG), and its description.
//
// The other axes are seen through: a cell is a column of chunks, and its number says how many of them are touched.

import { s } from "./dom.js";
import { count, counted } from "./extents.js";

/** Crops drawn; all are planned. */
const MOST_CROPS = 256;
/** With more crops, their numbers would hide one another. */
const MOST_NUMBERED = 16;
/** Lines closer than this many pixels are left out. */
const CLOSEST = 5;
const MARGIN = 1.5;

/** Chunks touched in each column: Map of "row,column" -> number. */
function columns(plan, [vertical, horizontal]) {
  const found = new Map();
  const rank = plan.rank;
  for (let c = 0; c < plan.chunks.length; c += 1) {
    const row = vertical === undefined ? 0 : Number(plan.coords[c * rank + vertical]);
    const column = horizontal === undefined ? 0 : Number(plan.coords[c * rank + horizontal]);
    const key = `${row},${column}`;
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  return found;
}

/** One axis of the drawing: extent and chunks in elements, and elements -> pixels. */
function axisOf(fields, axis, pixels) {
  if (axis === undefined) return { extent: 1, chunk: 1, shard: 0, scale: pixels, at: (x) => x * pixels };
  const extent = Math.max(Number(fields.shape[axis]), 1);
  const scale = pixels / extent;
  const shard = fields.levels.length > 1 ? Number(fields.levels[0][axis]) : 0;
  return { extent, chunk: Number(fields.levels.at(-1)[axis]), shard, scale, at: (x) => Math.min(x, extent) * scale };
}

/** Width and height in pixels: true to the array's shape, but never a sliver. */
function sizeOf(fields, [vertical, horizontal], width) {
  if (vertical === undefined) return [width, 72];
  const ratio = Number(fields.shape[vertical]) / Math.max(Number(fields.shape[horizontal]), 1);
  if (ratio > 1) {
    const height = Math.min(width, 460);
    return [Math.max(height / ratio, height / 5), height];
  }
  return [Math.min(width, 460), Math.max(Math.min(width, 460) * ratio, 72)];
}

function lines(x, y, step, name) {
  if (!step) return "";
  const path = [];
  for (const [axis, horizontal] of [
    [x, false],
    [y, true],
  ]) {
    if (step(axis) * axis.scale < CLOSEST) continue;
    for (let at = step(axis); at < axis.extent; at += step(axis)) {
      const p = (at * axis.scale).toFixed(1);
      path.push(
        horizontal ? `M0 ${p}H${(x.extent * x.scale).toFixed(1)}` : `M${p} 0V${(y.extent * y.scale).toFixed(1)}`,
      );
    }
  }
  return s("path", { class: name, d: path.join("") });
}

/**
 * A plan, drawn: { svg, description, fine, undrawn }, with whether lines were left out and how many crops were.
 * `axes` are [vertical, horizontal]; undefined where the array has fewer.
 */
export function drawGrid(fields, plan, axes, width) {
  const [w, height] = sizeOf(fields, axes, width - 2 * MARGIN);
  const x = axisOf(fields, axes[1], w);
  const y = axisOf(fields, axes[0], height);
  const found = columns(plan, axes);
  const most = Math.max(...found.values(), 1);
  const cells = [[], [], [], []]; // four shades, one path each
  const labels = [];
  const cellWidth = x.chunk * x.scale;
  const cellHeight = y.chunk * y.scale;
  for (const [key, number] of found) {
    const [row, column] = key.split(",").map(Number);
    const left = x.at(column * x.chunk);
    const top = y.at(row * y.chunk);
    const right = x.at((column + 1) * x.chunk);
    const bottom = y.at((row + 1) * y.chunk);
    cells[Math.ceil((4 * number) / most) - 1].push(
      `M${left.toFixed(1)} ${top.toFixed(1)}H${right.toFixed(1)}V${bottom.toFixed(1)}H${left.toFixed(1)}Z`,
    );
    if (plan.rank > 2 && cellWidth >= 24 && cellHeight >= 18) {
      labels.push(s("text", { class: "cell", x: (left + 5).toFixed(1), y: (bottom - 5).toFixed(1) }, String(number)));
    }
  }
  const drawn = fields.samples.slice(0, MOST_CROPS);
  const crops = drawn.map((bounds) => cropOf(bounds, axes, x, y));
  const numbered = drawn.length > 1 && drawn.length <= MOST_NUMBERED;
  const description = describe(fields, plan, axes, found);
  const svg = s(
    "svg",
    {
      role: "img",
      "aria-label": description,
      width: (w + 2 * MARGIN).toFixed(1),
      height: (height + 2 * MARGIN).toFixed(1),
      viewBox: [-MARGIN, -MARGIN, w + 2 * MARGIN, height + 2 * MARGIN].map((n) => n.toFixed(1)).join(" "),
    },
    s("rect", { class: "array", width: w.toFixed(1), height: height.toFixed(1) }),
    ...cells.map((paths, shade) => s("path", { class: `touched shade-${shade + 1}`, d: paths.join("") })),
    lines(x, y, (axis) => axis.chunk, "chunk-lines"),
    lines(x, y, fields.levels.length > 1 && ((axis) => axis.shard || axis.extent), "shard-lines"),
    ...crops.map(({ rect }) => rect),
    ...labels,
    ...(numbered ? crops.map(tagOf) : []), // over all crops, so that none hides another's number
    s("rect", { class: "frame", width: w.toFixed(1), height: height.toFixed(1) }),
  );
  const fine = [x, y].some((axis) => axis.chunk < axis.extent && axis.chunk * axis.scale < CLOSEST);
  return { svg, description, fine, undrawn: fields.samples.length - drawn.length };
}

function cropOf(bounds, [vertical, horizontal], x, y) {
  const [left, right] = horizontal === undefined ? [0, 1] : bounds[horizontal].map(Number);
  const [top, bottom] = vertical === undefined ? [0, 1] : bounds[vertical].map(Number);
  const place = { x: x.at(left).toFixed(1), y: y.at(top).toFixed(1) };
  const rect = s("rect", {
    class: "crop",
    ...place,
    width: Math.max(x.at(right) - x.at(left), 1).toFixed(1),
    height: Math.max(y.at(bottom) - y.at(top), 1).toFixed(1),
  });
  return { rect, place };
}

/** The number of a crop, in its corner. */
function tagOf({ place: { x, y } }, index) {
  const wide = index > 8 ? 21 : 15;
  return s(
    "g",
    {},
    s("rect", { class: "tag", x, y, width: wide, height: 15 }),
    s(
      "text",
      { class: "tag-text", x: (Number(x) + wide / 2).toFixed(1), y: (Number(y) + 11.5).toFixed(1), "text-anchor": "middle" },
      String(index + 1),
    ),
  );
}

function describe(fields, plan, [vertical, horizontal], found) {
  const chunk = fields.levels.at(-1);
  const grid = (axis) => (axis === undefined ? 1n : (fields.shape[axis] + chunk[axis] - 1n) / chunk[axis]);
  const across =
    vertical === undefined
      ? counted(grid(horizontal), "chunk")
      : `${count(grid(vertical))} × ${count(grid(horizontal))} chunks`;
  const names = [vertical, horizontal].filter((axis) => axis !== undefined);
  const along = names.length
    ? `along ${names.length === 1 ? "axis" : "axes"} ${names.join(" and ")}`
    : "of an array without axes";
  const columns =
    plan.rank > 2
      ? `; ${counted(plan.chunks.length, "chunk")} in ${counted(found.size, "column")} touched`
      : `; ${counted(plan.chunks.length, "chunk")} touched`;
  return `${across} ${along}${columns} by ${counted(fields.samples.length, "crop")}.`;
}
