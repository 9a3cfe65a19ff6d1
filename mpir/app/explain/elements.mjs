// Elements of the page. Texts are set as textContent only.

export const byId = (id) => document.getElementById(id);

/** An HTML element with properties, data- attributes and those children that are not empty. */
export function make(tag, { data = {}, ...properties } = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  Object.assign(made.dataset, data);
  made.append(...children.flat().filter(Boolean));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes and children. */
export function draw(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A table of texts that scrolls by itself where it is too wide. */
export function table(heads, rows) {
  const row = (texts, tag) => make("tr", {}, texts.map((text) => make(tag, {}, text)));
  return make("div", { className: "wide" }, make("table", {},
    make("thead", {}, row(heads, "th")), make("tbody", {}, rows.map((texts) => row(texts, "td")))));
}

export const decimal = (value) => value.toFixed(3);

/** Say something in the status line, which screen readers read out. */
export const say = (text) => { byId("status").textContent = text; };
