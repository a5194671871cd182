// The plan panel: state -> figures, drawing, bytes a batch, and the chunk shape that would waste less.
//
// Every number is the component's; here they get words.

import { isRefusal } from "./component.js";
import { byId, h } from "./dom.js";
import { bytes, count, counted, factor, formatExtents, times } from "./extents.js";
import { drawGrid } from "./grid.js";
import { FieldError, advice, batchBytes, plan, price, python, readFields } from "./planning.js";

/** Fields that an error can be about. */
const FIELDS = ["shape", "chunk", "shard", "crop", "batch", "window", "start", "ratio"];

/** Milliseconds without input before the advice is asked for: it takes longer than what may delay a keystroke. */
const IDLE = 400;

let run = 0; // the newest call; the advice for an older one is not asked for
let typed = -Infinity; // when the last input came
let shown; // what the drawing needs to be drawn again

/** An input came, to whichever field. */
export function input() {
  typed = performance.now();
}

/** The advice shown is that for other fields. */
export function outdated() {
  run += 1;
  byId("better").setAttribute("aria-busy", "true");
}

/** Plans, prices and shows. `adopt(fields)` takes an advised layout. Returns the sentence for screen readers. */
export function showPlan(state, component, adopt) {
  outdated();
  for (const field of FIELDS) setError(field, "");
  let fields;
  let planned;
  let report;
  let outputs;
  try {
    fields = readFields(state, component);
    planned = plan(component, fields);
    report = price(component, fields);
    outputs = batchBytes(component, fields);
  } catch (error) {
    if (!(error instanceof FieldError) && !isRefusal(error)) throw error;
    setError(error.field ?? "crop", error.message);
    byId("better").setAttribute("aria-busy", "false");
    byId("plan-results").classList.add("stale");
    byId("plan-stale").hidden = false;
    return error.message;
  }
  byId("plan-results").classList.remove("stale");
  byId("plan-stale").hidden = true;
  showFigures(fields, report);
  chooseAxes(state, fields);
  shown = { fields, planned };
  redraw(state);
  showBatchBytes(outputs, fields);
  byId("python").textContent = python(fields);
  advise(component, fields, report, adopt);
  const read = report.readWaste === undefined ? "read waste unknown" : `read waste ${factor(report.readWaste)}`;
  const touched = `${counted(report.chunks, "chunk")} touched`;
  return `Decode waste ${factor(report.decodeWaste)}, ${read}, ${touched}, ${bytes(report.host.batchBytes)} a batch.`;
}

function setError(field, message) {
  byId(`${field}-error`).textContent = message;
  byId(field).setAttribute("aria-invalid", message ? "true" : "false");
}

function figure(id, value, detail) {
  byId(id).textContent = value;
  byId(`${id}-detail`).textContent = detail;
}

function showFigures(fields, report) {
  const crops = fields.samples.length === 1 ? "1 crop needs" : `${fields.samples.length} crops need`;
  figure(
    "decode-waste",
    factor(report.decodeWaste),
    `${bytes(report.decodedBytes)} decoded for the ${bytes(report.neededBytes)} that ${crops}`,
  );
  byId("read-waste").classList.toggle("word", report.readWaste === undefined);
  if (report.readWaste === undefined)
    figure("read-waste", "unknown", "it needs the encoded size, as a ratio to the decoded size: 0.4, 40%");
  else
    figure("read-waste", factor(report.readWaste), `${bytes(report.readBytes)} read for ${bytes(report.neededBytes)}`);
  figure(
    "chunks-touched",
    count(report.chunks),
    `${bytes(report.largestChunkBytes)} each decoded, used ${counted(report.uses, "time")}`,
  );
  figure("batch-size", bytes(report.host.batchBytes), `${fields.batch} × ${times(fields.crop)} in ${fields.output}`);
}

function chooseAxes(state, fields) {
  const rank = fields.shape.length;
  byId("axes-choice").hidden = rank < 3;
  const chosen = axesOf(state, rank);
  for (const [place, id] of ["axis-down", "axis-across"].entries()) {
    const options = fields.shape.map((extent, axis) => h("option", { value: axis }, `axis ${axis} (${extent})`));
    const select = byId(id);
    if (select.options.length !== rank || [...select.options].some((one, axis) => one.text !== options[axis].text))
      select.replaceChildren(...options);
    select.value = String(chosen[place] ?? "");
  }
}

/** The axes drawn: those asked for, else the last two. */
function axesOf(state, rank) {
  const asked = state.axes.split(",").map(Number);
  if (
    rank > 2 &&
    asked.length === 2 &&
    asked[0] !== asked[1] &&
    asked.every((axis) => Number.isInteger(axis) && axis >= 0 && axis < rank)
  )
    return asked;
  return rank > 1 ? [rank - 2, rank - 1] : [undefined, rank === 1 ? 0 : undefined];
}

/** Draws the last plan again, for another width or other axes. */
export function redraw(state) {
  if (!shown) return;
  const { fields, planned } = shown;
  const box = byId("grid");
  const axes = axesOf(state, fields.shape.length);
  const { svg, description, fine, undrawn } = drawGrid(fields, planned, axes, Math.max(box.clientWidth, 200));
  box.replaceChildren(svg);
  box.parentElement.classList.toggle("flat", fields.shape.length < 2);
  const words = [description];
  if (planned.rank > 2)
    words.push("A number counts the chunks touched through the other axes; a stronger tone is more.");
  if (fine) words.push("The chunks are too small here to draw all their edges.");
  if (undrawn) words.push(`${counted(undrawn, "more crop")} not drawn.`);
  byId("grid-words").textContent = words.join(" ");
  byId("shard-legend").hidden = fields.levels.length < 2;
}

function showBatchBytes(outputs, fields) {
  const most = outputs.reduce((a, one) => (one.bytes > a ? one.bytes : a), 1n);
  byId("batch-bytes").replaceChildren(
    ...outputs.map(({ dtype, fullName, bytes: size }) => {
      const chosen = dtype === fields.output;
      const share = Math.max((100 * Number(size)) / Number(most), 1);
      return h(
        "tr",
        { class: chosen ? "chosen" : undefined, "aria-current": chosen ? "true" : undefined },
        h("th", { scope: "row" }, dtype, h("small", {}, fullName)),
        h("td", { class: "bar-cell", "aria-hidden": "true" }, h("span", { class: "bar", style: `width:${share}%` })),
        h("td", { class: "number" }, bytes(size), chosen && h("small", {}, "chosen")),
      );
    }),
  );
}

/** Asks the component for its advice once the figures are on the screen and typing has paused, and shows it. */
function advise(component, fields, report, adopt) {
  const mine = run;
  const left = () => typed + IDLE - performance.now();
  const look = () => {
    if (mine !== run) return;
    if (left() > 0) return setTimeout(look, left());
    let advised;
    let refusal;
    try {
      advised = advice(component, fields);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusal = error.message;
    }
    byId("better").setAttribute("aria-busy", "false");
    const current = { levels: fields.levels, report: advised?.now ?? report, current: true };
    const words = refusal === undefined ? adviceWords(advised, fields) : [refusal];
    byId("better-words").replaceChildren(...words);
    const rows = [current, ...(advised ? [advised] : [])];
    byId("better-rows").replaceChildren(...rows.map((one) => layoutRow(one, adopt)));
  };
  setTimeout(look, Math.max(left(), 0));
}

function adviceWords(advised, { levels: stored, samples }) {
  if (!advised) return ["No other shape was found that costs less by 5 % or more."];
  const { levels, report, now, crops } = advised;
  const unsharded = stored.length > 1 ? " without shards" : "";
  const inShards = levels.length > 1 ? ` in shards of ${times(levels[0])}` : unsharded;
  const pieces = `in ${counted(report.chunks, "chunk")} of ${bytes(report.largestChunkBytes)}`;
  return [
    h("b", {}, times(levels.at(-1))),
    `${inShards} would decode ${bytes(report.decodedBytes)} instead of ${bytes(now.decodedBytes)}: `,
    `${factor(report.decodeWaste)} instead of ${factor(now.decodeWaste)}, ${pieces}`,
    difference(report, now),
    crops < samples.length &&
      ` These figures hold for the first ${count(crops)} crops: with all ${count(samples.length)} it is more than this page plans.`,
  ].filter(Boolean);
}

/** What a layout that costs less has more of, if anything. */
function difference(report, now) {
  const than = ` instead of ${count(now.chunks)}`;
  if (report.decodedBytes >= now.decodedBytes)
    return `${than}: fewer chunks, which cost something each, not fewer bytes.`;
  if (report.chunks > now.chunks) return `${than}: more chunks, which cost something each, but fewer bytes.`;
  return ".";
}

/** Extents as a table has room for them: lines break after a sign only. */
function breakable(extents) {
  if (!extents.length) return [times(extents)];
  return extents.flatMap((extent, axis) => (axis + 1 < extents.length ? [`${extent}×`, h("wbr")] : [String(extent)]));
}

function layoutRow({ levels, report, current }, adopt) {
  const chunk = levels.at(-1);
  const shards = levels.slice(0, -1);
  const fields = {
    chunk: formatExtents([...chunk]),
    shard: shards.map((level) => formatExtents([...level])).join(" / "),
  };
  const action = current
    ? h("span", { class: "muted" }, "now")
    : h(
        "button",
        {
          type: "button",
          class: "small",
          onclick: () => adopt(fields),
          "aria-label": `Try chunk shape ${times(chunk)}`,
        },
        "Try",
      );
  return h(
    "tr",
    { class: current ? "chosen" : undefined },
    h("th", { scope: "row" }, ...breakable([...chunk])),
    h("td", {}, factor(report.decodeWaste)),
    h("td", {}, count(report.chunks)),
    h("td", {}, bytes(report.largestChunkBytes)),
    h("td", {}, action),
  );
}
