// The plan panel: state -> figures, drawing, bytes a batch, and the chunk shape that would waste less.

import { isRefusal } from "./component.js";
import { byId, h } from "./dom.js";
import { bytes, count, counted, factor, formatExtents, times } from "./extents.js";
import { drawGrid } from "./grid.js";
import { FieldError, alternatives, batchBytes, plan, python, readFields } from "./planning.js";

/** Fields that an error can be about. */
const FIELDS = ["shape", "chunk", "shard", "crop", "batch", "window", "start", "ratio"];
/** Milliseconds of planning between two looks at the keyboard. */
const SLICE = 12;

let run = 0; // the newest call; an older one stops at its next slice
let shown; // what the drawing needs to be drawn again

/** Ends the proposals under way: the fields have changed. */
export function outdated() {
  run += 1;
  byId("better").setAttribute("aria-busy", "true");
}

/** Plans and shows. `adopt(chunk)` takes a proposed chunk shape. Returns the sentence for screen readers. */
export function showPlan(state, component, adopt) {
  outdated();
  for (const field of FIELDS) setError(field, "");
  let fields;
  let planned;
  try {
    fields = readFields(state, component);
    planned = plan(component, fields);
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
  showFigures(fields, planned);
  chooseAxes(state, fields);
  shown = { fields, planned };
  redraw(state);
  showBatchBytes(batchBytes(component, fields), fields);
  byId("python").textContent = python(fields);
  propose(component, fields, planned, adopt);
  const { totals } = planned;
  const read = totals.readWaste === undefined ? "read waste unknown" : `read waste ${factor(totals.readWaste)}`;
  const touched = `${counted(planned.chunks.length, "chunk")} touched`;
  return `Decode waste ${factor(totals.decodeWaste)}, ${read}, ${touched}, ${bytes(totals.batchBytes)} a batch.`;
}

function setError(field, message) {
  byId(`${field}-error`).textContent = message;
  byId(field).setAttribute("aria-invalid", message ? "true" : "false");
}

function figure(id, value, detail) {
  byId(id).textContent = value;
  byId(`${id}-detail`).textContent = detail;
}

function showFigures(fields, { totals, chunks, uses }) {
  const crops = fields.samples.length === 1 ? "1 crop needs" : `${fields.samples.length} crops need`;
  figure(
    "decode-waste",
    factor(totals.decodeWaste),
    `${bytes(totals.decodedBytes)} decoded for the ${bytes(totals.neededBytes)} that ${crops}`,
  );
  byId("read-waste").classList.toggle("word", totals.readWaste === undefined);
  if (totals.readWaste === undefined)
    figure("read-waste", "unknown", "it needs the encoded size, as a ratio to the decoded size: 0.4, 40%");
  else
    figure("read-waste", factor(totals.readWaste), `${bytes(totals.readBytes)} read for ${bytes(totals.neededBytes)}`);
  figure(
    "chunks-touched",
    count(chunks.length),
    `${bytes(totals.largestChunkBytes)} each decoded, used ${counted(uses.length, "time")}`,
  );
  figure("batch-size", bytes(totals.batchBytes), `${fields.batch} × ${times(fields.crop)} in ${fields.output}`);
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

/** Asks the planner about other chunk shapes, between two looks at the keyboard, and shows the best. */
function propose(component, fields, planned, adopt) {
  const mine = run;
  const work = alternatives(component, fields);
  const step = () => {
    if (mine !== run) return;
    const until = performance.now() + SLICE;
    for (;;) {
      const { done, value } = work.next();
      if (done) return showProposal(value, fields, planned, adopt);
      if (performance.now() > until) break;
    }
    setTimeout(step);
  };
  setTimeout(step);
}

function showProposal({ tried, refused, found }, fields, planned, adopt) {
  byId("better").setAttribute("aria-busy", "false");
  const now = planned.totals;
  const chunk = fields.levels.at(-1);
  const better = found.filter((one) => one.totals.decodeWaste < now.decodeWaste);
  const words = byId("better-words");
  const inShard = fields.levels.length > 1 ? " that divide the shard" : "";
  const beyond = refused ? `; ${refused} need more chunks than this page plans` : "";
  const size = `none under ${bytes(fields.least)} decoded`;
  const asked = `${counted(tried, "other shape")}${inShard}, ${size}, planned with the same crops${beyond}.`;
  if (better.length) {
    const [best] = better;
    words.replaceChildren(
      h("b", {}, times(best.chunk)),
      ` would decode ${bytes(best.totals.decodedBytes)} instead of ${bytes(now.decodedBytes)}: `,
      `${factor(best.totals.decodeWaste)} instead of ${factor(now.decodeWaste)}, `,
      `in ${counted(best.chunks, "chunk")} of ${bytes(best.totals.largestChunkBytes)}.`,
    );
  } else {
    words.replaceChildren(
      tried ? "No other shape asked about wastes less." : "No other shape is large enough to ask about.",
    );
  }
  byId("better-asked").textContent = asked;
  const current = { chunk, totals: now, chunks: planned.chunks.length, current: true };
  byId("better-rows").replaceChildren(...[current, ...better.slice(0, 4)].map((one) => proposalRow(one, adopt)));
}

/** Extents as a table has room for them: lines break after a sign only. */
function breakable(extents) {
  if (!extents.length) return [times(extents)];
  return extents.flatMap((extent, axis) => (axis + 1 < extents.length ? [`${extent}×`, h("wbr")] : [String(extent)]));
}

function proposalRow({ chunk, totals, chunks, current }, adopt) {
  const action = current
    ? h("span", { class: "muted" }, "now")
    : h(
        "button",
        {
          type: "button",
          class: "small",
          onclick: () => adopt(formatExtents(chunk)),
          "aria-label": `Try chunk shape ${times(chunk)}`,
        },
        "Try",
      );
  return h(
    "tr",
    { class: current ? "chosen" : undefined },
    h("th", { scope: "row" }, ...breakable(chunk)),
    h("td", {}, factor(totals.decodeWaste)),
    h("td", {}, count(chunks)),
    h("td", {}, bytes(totals.largestChunkBytes)),
    h("td", {}, action),
  );
}
