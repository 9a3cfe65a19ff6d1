// Two small charts: the list by rank, with decisions, and a document, with where its evidence lies.

import { draw } from "./elements.mjs";

const HEIGHT = 56, WIDTH = 600;

/** The list: a mark for each document at its rank, as high as its probability; the shape tells the decision. */
export function listChart(points, current) {
  const step = WIDTH / Math.max(points.length, 1), small = Math.max(1.2, Math.min(3, step / 2.2));
  const marks = points.map(({ value, decision, i }, at) => {
    const x = (at + 0.5) * step, y = HEIGHT - 5 - value * (HEIGHT - 10), radius = decision === "undecided" ? small : 3;
    const attributes = { class: `mark ${decision}${i === current ? " current" : ""}`, "data-at": String(at) };
    return decision === "excluded"
      ? draw("path", { ...attributes, d: `M${x - radius} ${y - radius}l${2 * radius} ${2 * radius}m0 ${-2 * radius}l${-2 * radius} ${2 * radius}` })
      : draw("circle", { ...attributes, cx: String(x), cy: String(y), r: String(radius) });
  });
  const grid = [0, 0.5, 1].map((value) => {
    const y = String(HEIGHT - 5 - value * (HEIGHT - 10));
    return draw("line", { class: "grid", x1: "0", x2: String(WIDTH), y1: y, y2: y });
  });
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...grid, ...marks);
}

/** A document: a bar for each sentence, as wide as its text and as high as its value; the best have their numbers. */
export function textChart(sentences) {
  const total = sentences.reduce((sum, { length }) => sum + length, 0) || 1, height = 28;
  let x = 0;
  const bars = sentences.flatMap(({ length, value, rank }, at) => {
    const width = (WIDTH * length) / total, tall = Math.max(2, value * (height - 4)), left = x;
    x += width;
    return [draw("rect", {
      class: rank < 0 ? "bar-of" : "bar-of bar-best", x: String(left + 1), width: String(Math.max(1, width - 2)),
      y: String(height - tall), height: String(tall), "data-at": String(at),
    })];
  });
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...bars);
}
