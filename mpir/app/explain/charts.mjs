// Two small charts: the list by rank, with decisions, and a document, with where its evidence lies.

import { draw } from "./elements.mjs";

const HEIGHT = 56, WIDTH = 600;

/** The sign of a decision around a point. */
export function sign(decision, x, y, radius, attributes = {}) {
  const all = { ...attributes, class: `mark ${decision} ${attributes.class ?? ""}` };
  return decision === "excluded"
    ? draw("path", { ...all, d: `M${x - radius} ${y - radius}l${2 * radius} ${2 * radius}m0 ${-2 * radius}l${-2 * radius} ${2 * radius}` })
    : draw("circle", { ...all, cx: x, cy: y, r: radius });
}

const chart = (height, ...shapes) => draw("svg", { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...shapes);

/** The list: a sign for each document at its rank, as high as its probability; its shape tells the decision. */
export function listChart(points, current) {
  const step = WIDTH / Math.max(points.length, 1), small = Math.max(1.2, Math.min(3, step / 2.2));
  const yOf = (value) => HEIGHT - 5 - value * (HEIGHT - 10);
  const signs = points.map(({ value, decision, i }, at) => sign(decision, (at + 0.5) * step, yOf(value), decision === "undecided" ? small : 3,
    { class: i === current ? "current" : "", "data-at": at }));
  return chart(HEIGHT, ...[0, 0.5, 1].map(yOf).map((y) => draw("line", { class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y })), ...signs);
}

/** A document: a bar for each sentence, as wide as its text and as high as its value; the best have their numbers. */
export function textChart(sentences) {
  const total = sentences.reduce((sum, { length }) => sum + length, 0) || 1, height = 28;
  let x = 0;
  return chart(height, ...sentences.map(({ length, value, rank }, at) => {
    const width = (WIDTH * length) / total, tall = Math.max(2, value * (height - 4)), left = x + 1;
    x += width;
    return draw("rect", {
      class: rank < 0 ? "bar-of" : "bar-of bar-best", x: left, width: Math.max(1, width - 2), y: height - tall, height: tall, "data-at": at,
    });
  }));
}
