// The values panel: state -> converted values with marks, a summary, and what could not be read.

import { byId, h } from "./dom.js";
import { bitsOf } from "./exact.js";
import { KINDS, hex, note, show } from "./notes.js";
import { LIMITS, accepted, bitsAt, parseValues, toBytes } from "./parse-values.js";
import { count, counted } from "./extents.js";

/** Rows of the table; the summary counts all values. */
const MOST_ROWS = 300;

/** Converts and shows. Returns the sentence for screen readers. */
export function showValues(state, component) {
  const { source, output } = state;
  const parsed = parseValues(state.values, source);
  const input = toBytes(parsed.values, source);
  const result = component.convert(source, output, input);
  const [from, to] = [bitsOf(source) / 8, bitsOf(output) / 8];

  const counts = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, 0]));
  const rows = [];
  const onlyChanged = byId("only-changed").checked;
  let wanted = 0;
  parsed.values.forEach(({ bits, token, inexact }, index) => {
    const outputBits = bitsAt(result, index, to);
    const { kind, text } = note(source, bits, output, outputBits);
    counts[kind] += 1;
    if (onlyChanged && kind === "exact") return;
    wanted += 1;
    if (rows.length < MOST_ROWS) rows.push({ index, token, inexact, bits, outputBits, kind, text });
  });
  showMessages(parsed, source);
  showSummary(parsed.values.length, counts);
  byId("results").replaceChildren(...rows.map((row) => rowOf(row, source, output)));
  byId("results-table").hidden = rows.length === 0;
  const more = byId("results-more");
  more.hidden = wanted <= rows.length;
  more.textContent = `The first ${count(rows.length)} of ${count(wanted)} rows; the counts above are of all values.`;
  byId("results-empty").hidden = rows.length > 0;
  byId("results-empty").textContent = parsed.values.length
    ? "Every value is kept exactly."
    : "Type or paste values to convert.";
  byId("head-source").textContent = source;
  byId("head-output").textContent = output;
  byId("bytes-moved").textContent =
    `${counted(input.length / from, "value")}: ${count(input.length)} bytes in, ${count(result.length)} bytes out.`;
  return summaryText(parsed, counts, source, output);
}

function rowOf({ index, token, inexact, bits, outputBits, kind, text }, source, output) {
  const { word, sign } = KINDS[kind];
  const asTyped = Number(token.replaceAll("_", "").replace("−", "-")) === Number(show(source, bits));
  const typed =
    inexact && !asTyped
      ? h("small", { class: "typed" }, `typed ${token.length > 26 ? `${token.slice(0, 26)}…` : token}`)
      : "";
  return h(
    "tr",
    { class: `is-${kind}` },
    h("td", { class: "index" }, String(index + 1)),
    h(
      "td",
      { class: "element" },
      h("span", { class: "number" }, show(source, bits)),
      h("small", {}, hex(source, bits)),
      typed,
    ),
    h(
      "td",
      { class: "element out" },
      h("span", { class: "number" }, show(output, outputBits)),
      h("small", {}, hex(output, outputBits)),
    ),
    h(
      "td",
      { class: "what" },
      h("span", { class: "mark" }, h("span", { "aria-hidden": "true" }, sign), ` ${word}`),
      text && h("span", { class: "detail" }, text),
    ),
  );
}

function showMessages({ values, bad, badCount, left }, source) {
  const field = byId("values");
  field.setAttribute("aria-invalid", badCount > 0 ? "true" : "false");
  const said = ({ index, token, problem }) => h("li", {}, `Value ${count(index)}, “${token}”, ${problem}.`);
  const lines = bad.map(said);
  if (badCount > bad.length) lines.push(h("li", {}, `${count(badCount - bad.length)} more could not be read.`));
  if (badCount) lines.push(h("li", {}, `${accepted(source)}.`));
  byId("values-error").replaceChildren(...lines);
  const verb = (number) => (number === 1 ? "is" : "are");
  const notes = [];
  const nearest = values.filter(({ inexact }) => inexact === "nearest").length;
  const infinite = values.filter(({ inexact }) => inexact === "inf").length;
  if (nearest)
    notes.push(
      `${count(nearest)} of the numbers typed ${verb(nearest)} not exactly ${source}: the nearest one is the source`,
    );
  if (infinite) notes.push(`${count(infinite)} ${verb(infinite)} past the largest ${source}: read as infinity`);
  if (left)
    notes.push(`${left} (this page's limits: ${count(LIMITS.values)} values, ${count(LIMITS.characters)} characters)`);
  byId("values-note").textContent = notes.length ? `${notes.join("; ")}.` : "";
}

const present = (counts) => Object.entries(counts).filter(([, number]) => number > 0);

function showSummary(total, counts) {
  const chips = present(counts).map(([kind, number]) =>
    h(
      "li",
      { class: `chip is-${kind}` },
      h("span", { class: "sign", "aria-hidden": "true" }, KINDS[kind].sign),
      h("b", {}, count(number)),
      ` ${KINDS[kind].word}`,
    ),
  );
  byId("summary").replaceChildren(...chips);
  byId("summary").hidden = total === 0;
}

function summaryText({ values, badCount }, counts, source, output) {
  const parts = present(counts).map(([kind, number]) => `${number} ${KINDS[kind].word}`);
  const unread = badCount ? ` ${badCount} could not be read.` : "";
  const what = parts.join(", ") || "nothing to convert";
  return `${source} to ${output}, ${counted(values.length, "value")}: ${what}.${unread}`;
}
