// The page: fields <-> state <-> address; every change converts and plans again.

import { loadComponent } from "./component.js";
import { wireDocument } from "./document-view.js";
import { announcer, byId, h } from "./dom.js";
import { bytes } from "./extents.js";
import { input, outdated, redraw, showPlan } from "./plan-view.js";
import { DEFAULTS, EXAMPLES, LONGEST_SHARED, fromHash, toHash } from "./state.js";
import { showValues } from "./values-view.js";

/** Fields of the values panel; the others belong to the plan. */
const VALUES = new Set(["source", "output", "values"]);
/** Fields that only change the drawing. */
const DRAWING = new Set(["axes"]);
/** Longer texts are converted when typing pauses. */
const AT_ONCE = 2000;

const component = await loadComponent();
let state = fromHash(location.hash);
const sayValues = announcer(byId("values-live"));
const sayPlan = announcer(byId("plan-live"), 700);

function options(id, types) {
  byId(id).replaceChildren(
    ...types.map(({ source, dtype, fullName }) =>
      h("option", { value: source ?? dtype }, `${source ?? dtype}  ${fullName}`),
    ),
  );
}

/** State -> form. A value that a field cannot take becomes its default. */
function writeForm() {
  for (const key of Object.keys(DEFAULTS)) {
    const field = byId(key);
    if (key === "mode") byId(state.mode === "given" ? "mode-given" : "mode-random").checked = true;
    else if (field) field.value = state[key];
    if (field?.tagName === "SELECT" && field.value !== state[key]) {
      state[key] = DEFAULTS[key];
      field.value = state[key];
    }
  }
}

function showMode() {
  byId("seed-field").hidden = state.mode === "given";
  byId("window-field").hidden = state.mode === "given";
  byId("start-field").hidden = state.mode !== "given";
}

let saving;
function save() {
  clearTimeout(saving);
  saving = setTimeout(() => {
    const hash = toHash(state);
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }, 150);
}

let timers = {};
/** Runs now, or when typing has paused for so long. */
function soon(name, pause, action) {
  clearTimeout(timers[name]);
  if (pause === 0) action();
  else timers[name] = setTimeout(action, pause);
}

/** A fault of the page or the component, not of what was typed: said, so that no stale figure passes for a new one. */
function fault(reason) {
  const line = byId("fault");
  line.textContent = `This page failed (${reason?.message ?? reason}); what it shows may be out of date. Reload it.`;
  line.hidden = false;
}
addEventListener("error", (event) => fault(event.error ?? event.message));
addEventListener("unhandledrejection", (event) => fault(event.reason));

/** Takes an advised layout. The button that did it is gone afterwards, so the focus goes to what holds it. */
function adopt(layout) {
  set(layout);
  byId("better").focus({ preventScroll: true });
}

const values = () => {
  sayValues(showValues(state, component));
  byId("results-table").setAttribute("aria-busy", "false");
};
const plans = () => sayPlan(showPlan(state, component, adopt));

function changed(keys) {
  input();
  save();
  showMode();
  if (keys.some((key) => VALUES.has(key))) {
    byId("results-table").setAttribute("aria-busy", "true");
    soon("values", state.values.length > AT_ONCE ? 250 : 0, values);
  }
  if (keys.some((key) => !VALUES.has(key) && !DRAWING.has(key))) {
    outdated();
    soon("plan", 60, plans);
  }
  if (keys.every((key) => DRAWING.has(key))) redraw(state);
}

function set(fields) {
  state = { ...state, ...fields };
  writeForm();
  changed(Object.keys(fields));
}

function wire() {
  for (const key of Object.keys(DEFAULTS)) {
    byId(key)?.addEventListener("input", (event) => {
      state[key] = event.target.value;
      changed([key]);
    });
  }
  for (const mode of ["random", "given"]) byId(`mode-${mode}`).addEventListener("change", () => set({ mode }));
  byId("only-changed").addEventListener("change", values);
  for (const id of ["axis-down", "axis-across"]) {
    byId(id).addEventListener("input", () => {
      const [down, across] = [byId("axis-down"), byId("axis-across")];
      if (down.value === across.value) {
        const other = id === "axis-down" ? across : down;
        other.value = [...other.options].map((one) => one.value).findLast((value) => value !== byId(id).value);
      }
      state.axes = `${down.value},${across.value}`;
      changed(["axes"]);
    });
  }
  byId("examples").replaceChildren(
    ...EXAMPLES.map(({ label, source, output, values }) =>
      h(
        "button",
        { type: "button", class: "chip-button", onclick: () => set({ source, output, values }) },
        h("span", { class: "pair" }, `${source} → ${output}`),
        ` ${label}`,
      ),
    ),
  );
  byId("reset").addEventListener("click", () => {
    byId("document").value = "";
    byId("document-said").replaceChildren();
    set({ ...DEFAULTS });
  });
  byId("copy").addEventListener("click", copyLink);
  addEventListener("hashchange", () => set(fromHash(location.hash)));
  new ResizeObserver(() => redraw(state)).observe(byId("grid"));
  wireDocument(component, set);
}

async function copyLink() {
  const hash = toHash(state);
  const link = location.href.replace(/#.*/, "") + (hash ? `#${hash}` : "");
  const said = byId("copied");
  const left = Object.keys(state).filter((key) => state[key].length > LONGEST_SHARED);
  try {
    await navigator.clipboard.writeText(link);
    said.textContent = left.length ? `Link copied, without the ${left.join(" and ")}: too long` : "Link copied";
  } catch {
    said.textContent = "Copy it from the address bar";
  }
  setTimeout(() => (said.textContent = ""), 4000);
}

options("source", component.sources);
options("output", component.outputs);
options("type", component.sources);
options("batchType", component.outputs);
byId("component-size").textContent = bytes(component.moduleBytes);
writeForm();
showMode();
wire();
byId("boot").remove();
byId("app").hidden = false;
values();
plans();
