// The list: a card for each document, the chart above it, and the count of what is done.

import { greatest, minmax, sum } from "./blend.mjs";
import { listChart, sign } from "./charts.mjs";
import { decisionOf } from "./decisions.mjs";
import { byId, decimal, draw, make, table } from "./elements.mjs";
import { misunderstood, passes } from "./filter.mjs";
import { actions, documentOf, gradeOf, PAGE, probabilityOf, state } from "./state.mjs";
import { advice } from "./stopping.mjs";
import { decisionButtons, recordOf } from "./text_pane.mjs";
import { bestSentence, percent, textOf } from "./texts.mjs";

/** The documents that the filter and the chosen view leave, in the order of the list. */
export function visible() {
  return state.order.filter((i) => (state.view === "all" || decisionOf(gradeOf(i)) === state.view)
    && passes(documentOf(i), gradeOf(i), state.filter));
}

export function drawList() {
  const names = columnNames(), ranks = new Map(state.order.map((i, at) => [i, at + 1]));
  byId("legend").replaceChildren(...names.map((name, k) => make("li", {}, piece(name, k, 0), name)));
  const widest = greatest(state.blended.map((one) => sum(Object.values(one.shares).map(Math.abs)))) || 1;
  const left = visible(), cards = left.slice(0, state.limit);
  byId("list").replaceChildren(...cards.map((i) => card(i, ranks.get(i), names, widest)));
  byId("more").hidden = cards.length === left.length;
  const total = state.order.length, filtered = left.length < total ? `; the filter leaves ${left.length} of ${total}` : "";
  const odd = misunderstood(state.filter), problem = odd.length ? `; not understood: ${odd.join(" ")} (fields are year, type, author, journal, grade and is)` : "";
  byId("count").textContent = `${cards.length} of ${left.length} shown${filtered}${problem}`;
  drawChart();
  drawTally();
}

function columnNames() {
  return [...new Set(state.blended.flatMap(({ shares }) => Object.keys(shares)))];
}

function card(i, rank, names, widest) {
  const item = documentOf(i), isShown = state.shown.includes(i), isOpen = state.open.has(i), note = state.decisions.note(item.id);
  const title = make("button", { className: "title", onclick: () => actions.select(i, true), ariaPressed: isShown, data: { index: i, key: `title ${i}` } }, item.name);
  const probability = state.blended[i] ? probabilityOf(item) : null;
  const value = make("span", { className: "value", title: "how likely the document is relevant" }, probability !== null && percent(probability));
  const more = make("button", {
    className: "quiet", onclick: () => toggleMore(i), ariaExpanded: isOpen, ariaLabel: `Shares of ${item.id}`, data: { key: `more ${i}` },
  }, "Shares");
  return make("li", { className: `${decisionOf(gradeOf(i))}${isShown ? " shown" : ""}` },
    make("span", { className: "rank" }, String(rank)),
    make("div", { className: "head" }, title, value),
    make("div", { className: "body" }, quote(i), note && make("p", { className: "hint" }, `Note: ${note}`),
      make("p", { className: "place" }, arrow(rank, item), `id ${item.id}`, recordOf(i)),
      item.reading === "in_part" && make("p", { className: "hint" }, "Read by the model's first layers only."),
      make("div", { className: "row" }, decisionButtons(i, "card"), more), bar(i, names, widest),
      isOpen && [compareBox(i), shares(i)]));
}

/** A document's best sentence or, where no model has read it, that it was not read. */
function quote(i) {
  const item = documentOf(i), blended = state.blended[i];
  if (!blended) return make("p", { className: "quote unread" }, "Not read yet; it stands where the search ranked it.");
  if (item.reading === "unread") return make("p", { className: "quote unread" }, "Not read, because it ranks low by the question's words; they alone give its place.");
  const sentence = item.sentences[bestSentence(item.sentences, blended.sentences)];
  if (!sentence) return make("p", { className: "quote" }, "No sentence.");
  return make("p", { className: "quote" }, sentence.says && [make("strong", { className: "says" }, `${sentence.says}:`), " "], textOf(item, sentence));
}

function bar(i, names, widest) {
  const { shares: of = {}, score } = state.blended[i] ?? {};
  return make("div", { className: "bar", ariaHidden: true, title: score === undefined ? "" : `blended score ${decimal(score)}` },
    names.map((name, k) => piece(name, k, of[name] ?? 0, widest)));
}

/** A column's piece of a bar, in its colour. */
function piece(name, k, value, widest = 1) {
  const made = make("span", { className: value < 0 ? "negative" : "", title: `${name} ${decimal(value)}` });
  made.style.background = `var(--c${k % 8})`;
  made.style.width = `${(100 * Math.abs(value)) / widest}%`;
  return made;
}

/** How far a document moved, from which rank of the first stage; its ranks by every search are in the tooltip. */
function arrow(rank, { before, ranks = {} }) {
  if (!before || before === rank) return [];
  const columns = Object.entries(ranks).map(([name, value]) => `${name} ${value}`).join(", "), isUp = before > rank;
  const title = `rank ${before} in the first stage${columns ? ` (ranks: ${columns})` : ""}`;
  return [make("span", { className: isUp ? "up" : "down", title },
    make("span", { ariaHidden: true }, `${isUp ? "▲" : "▼"} from ${before}`),
    make("span", { className: "hidden" }, `${isUp ? "up" : "down"} ${Math.abs(before - rank)}, ${title}`)), " · "];
}

export function showMore() {
  const before = byId("list").children.length;
  state.limit += PAGE;
  drawList();
  byId("list").children[before]?.querySelector(".title").focus();
}

function toggleMore(i) {
  if (!state.open.delete(i)) state.open.add(i);
  actions.redraw();
}

function compareBox(i) {
  const box = make("input", { type: "checkbox", checked: state.shown.includes(i), onchange: () => actions.compare(i), data: { key: `show ${i}` } });
  return make("label", { className: "compare" }, box, "Show beside another", make("span", { className: "hidden" }, documentOf(i).id));
}

function shares(i) {
  const blended = state.blended[i], { scores } = documentOf(i);
  if (!blended) return "";
  const values = { ...scores, ...Object.fromEntries(blended.best.map((number, rank) => [`sentence ${rank + 1}`, blended.sentences[number].score])) };
  const rows = Object.entries(blended.shares).map(([name, share]) => [name, name in values ? decimal(values[name]) : "", decimal(share)]);
  return make("div", { className: "shares" }, table(["document", "value", "share"], rows), sentenceShares(i));
}

/** What every column adds to each of the best sentences, with the column's own value. */
function sentenceShares(i) {
  const { best, sentences } = state.blended[i], { sentences: given } = documentOf(i);
  const names = best.length ? Object.keys(sentences[best[0]].shares) : [];
  const text = (name, number) => {
    const value = given[number].scores[name], part = decimal(sentences[number].shares[name]);
    return value === undefined ? part : `${part} (${decimal(value)})`;
  };
  return table(["share (value) of sentence", ...best.map((_, rank) => String(rank + 1))],
    names.map((name) => [name, ...best.map((number) => text(name, number))]));
}

/** The chart of the whole list: probability by rank or, without one, the score's place between lowest and highest. */
function drawChart() {
  const scored = state.order.filter((i) => state.blended[i]), probabilities = scored.map((i) => probabilityOf(documentOf(i)));
  const hasProbability = probabilities.some((value) => value !== null);
  const values = hasProbability ? probabilities : minmax(scored.map((i) => state.blended[i].score));
  const points = state.order.map((i, at) => ({ i, value: values[at] ?? 0, decision: decisionOf(gradeOf(i)) }));
  const chart = listChart(points, state.current);
  chart.addEventListener("click", (event) => {
    const { left, width } = chart.getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * points.length);
    actions.select(points[Math.max(0, Math.min(at, points.length - 1))].i, true);
  });
  byId("chart").replaceChildren(chart, make("figcaption", { className: "hint" },
    `${hasProbability ? "Probability of relevance" : "Score"} by rank. `,
    ["included", "maybe", "excluded", "undecided"].map((name) => make("span", {},
      draw("svg", { viewBox: "0 0 12 12", class: "key", "aria-hidden": "true" }, sign(name, 6, 6, 4)), ` ${name} `))));
}

/** What is done and what remains, and whether stopping is advised. */
function drawTally() {
  const { included, maybe, excluded, decided, left, total } = state.decisions.counts();
  byId("tally").textContent = `${decided} decided, ${left} to go: ${included} included, ${maybe} maybe, ${excluded} excluded`;
  byId("stop").textContent = advice(state.decisions.sequence(), total);
  for (const [name, value] of Object.entries({ included, maybe, excluded })) byId(`done-${name}`).style.width = `${(100 * value) / (total || 1)}%`;
  byId("undo").disabled = !state.decisions.past.length;
}
