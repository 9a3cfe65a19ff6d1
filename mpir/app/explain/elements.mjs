// Elements of the page. Texts are set as textContent only.

export const byId = (id) => document.getElementById(id);

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** An HTML element with properties, attributes and children. */
export function make(tag, { attributes = {}, ...properties } = {}, ...children) {
  return filled(Object.assign(document.createElement(tag), properties), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children. */
export const draw = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** A table of texts that scrolls by itself where it is too wide. */
export function table(heads, rows) {
  const cells = (values, tag) => values.map((text) => make(tag, { textContent: text }));
  return make("div", { className: "wide" }, make("table", {},
    make("thead", {}, make("tr", {}, ...cells(heads, "th"))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row, "td"))))));
}

export const decimal = (value) => value.toFixed(3);

/** Say something in the status line, which screen readers read out. */
export const say = (text) => { byId("status").textContent = text; };
