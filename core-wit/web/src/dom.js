// Elements by name: h("td", { class: "value" }, "text", child). Text is only ever set as text, never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== false && child !== ""));
  return element;
}

/** An HTML element. */
export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** Says something to screen readers once typing pauses. */
export function announcer(element, pause = 500) {
  let timer;
  return (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (element.textContent !== text) element.textContent = text;
    }, pause);
  };
}
