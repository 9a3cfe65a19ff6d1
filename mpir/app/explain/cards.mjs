// The list: a card for each document, the chart above it, and the count of what is done.

import { greatest, least, sum } from "./blend.mjs";
import { listChart } from "./charts.mjs";
import { decisionOf } from "./decisions.mjs";
import { byId, decimal, draw, make, table } from "./elements.mjs";
import { misunderstood, passes } from "./filter.mjs";
import { actions, documentOf, gradeOf, PAGE, probabilityOf, state } from "./state.mjs";
import { advice } from "./stopping.mjs";
import { decisionButtons, recordOf } from "./text_pane.mjs";
import { bestSentence, movement, nameOf, percent, textOf } from "./texts.mjs";

/** The documents that the filter and the chosen view leave, in the order of the list. */
export function visible() {
  return state.order.filter((i) => (state.view === "all" || decisionOf(gradeOf(i)) === state.view)
    && passes(documentOf(i), gradeOf(i), state.filter));
}

export function drawList() {
  const focused = document.activeElement?.dataset?.key, inList = byId("list").contains(document.activeElement);
  const names = columnNames(), ranks = new Map(state.order.map((i, at) => [i, at + 1]));
  byId("legend").replaceChildren(...names.map((name, k) => make("li", {}, make("span", { className: `c${k % 8}` }), name)));
  const widest = greatest(state.blended.map((one) => sum(Object.values(one.shares).map(Math.abs)))) || 1;
  const left = visible(), cards = left.slice(0, state.limit), tied = tiedRanks();
  byId("list").replaceChildren(...cards.map((i) => card(i, { rank: ranks.get(i), names, widest, tied })));
  byId("more").hidden = cards.length === left.length;
  const total = state.order.length, filtered = left.length < total ? `; the filter leaves ${left.length} of ${total}` : "";
  const odd = misunderstood(state.filter), problem = odd.length ? `; not understood: ${odd.join(" ")} (fields are year, type, author, journal, grade and is)` : "";
  byId("count").textContent = `${cards.length} of ${left.length} shown${filtered}${problem}`;
  if (inList && focused !== undefined) byId("list").querySelector(`[data-key="${focused}"]`)?.focus();
  drawChart();
  drawTally();
}

function columnNames() {
  const names = Object.keys(state.blended[0]?.shares ?? {});
  state.blended.forEach((one) => Object.keys(one.shares).forEach((name) => { if (!names.includes(name)) names.push(name); }));
  return names;
}

/** The ranks of the first stage that several documents share: nobody moved from one of these. */
function tiedRanks() {
  const counts = new Map();
  for (const { before } of state.data.documents) counts.set(before, (counts.get(before) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count > 1).map(([before]) => before));
}

function card(i, { rank, names, widest, tied }) {
  const item = documentOf(i), isShown = state.shown.includes(i), decision = decisionOf(gradeOf(i));
  const title = make("button", {
    type: "button", className: "title", textContent: nameOf(item), onclick: () => actions.select(i, true),
    attributes: { "aria-pressed": String(isShown), "data-index": i, "data-key": `title ${i}` },
  });
  const probability = state.blended[i] ? probabilityOf(item) : null;
  const value = make("span", { className: "value", title: "how likely the document is relevant", textContent: probability === null ? "" : percent(probability) });
  const isOpen = state.open.has(i);
  const more = make("button", {
    type: "button", className: "quiet", textContent: "Shares", onclick: () => toggleMore(i),
    attributes: { "aria-expanded": String(isOpen), "data-key": `more ${i}`, "aria-label": `Shares of ${item.id}` },
  });
  const note = state.decisions.note(item.id);
  return make("li", { className: `${decision}${isShown ? " shown" : ""}` },
    make("span", { className: "rank", textContent: String(rank) }),
    make("div", { className: "head" }, title, value),
    make("div", { className: "body" }, quote(i), ...(note ? [make("p", { className: "hint", textContent: `Note: ${note}` })] : []),
      make("p", { className: "place" }, ...arrow(rank, item, tied), `id ${item.id}`, ...recordOf(i)),
      ...(item.reading === "in_part" ? [make("p", { className: "hint", textContent: "Read by the model's first layers only." })] : []),
      make("div", { className: "row" }, decisionButtons(i, "card"), more), bar(i, names, widest),
      ...(isOpen ? [compareBox(i), shares(i)] : [])));
}

/** A document's best sentence or, where no model has read it, that it was not read. */
function quote(i) {
  const item = documentOf(i), blended = state.blended[i];
  if (!blended) return make("p", { className: "quote unread", textContent: "Not read yet; it stands where the search ranked it." });
  if (item.reading === "unread") return make("p", { className: "quote unread", textContent: "Not read, because it ranks low by the question's words; they alone give its place." });
  const number = bestSentence(item.sentences, blended.sentences);
  if (number < 0) return make("p", { className: "quote", textContent: "No sentence." });
  const { says } = item.sentences[number];
  return make("p", { className: "quote" }, ...(says ? [make("strong", { className: "says", textContent: `${says}:` }), " "] : []), textOf(item, item.sentences[number]));
}

function bar(i, names, widest) {
  const made = make("div", { className: "bar", attributes: { "aria-hidden": "true" } }), { shares: of = {}, score = 0 } = state.blended[i] ?? {};
  made.title = state.blended[i] ? `blended score ${decimal(score)}` : "";
  names.forEach((name, k) => {
    const value = of[name] ?? 0;
    const piece = make("span", { className: `c${k % 8}${value < 0 ? " negative" : ""}`, title: `${name} ${decimal(value)}` });
    piece.style.width = `${(100 * Math.abs(value)) / widest}%`;
    made.append(piece);
  });
  return made;
}

/** How far a document moved, from which rank of the first stage; its ranks by every search are in the tooltip. */
function arrow(rank, { before, ranks = {} }, tied) {
  const moved = movement(rank, before, tied.has(before)), columns = Object.entries(ranks).map(([name, value]) => `${name} ${value}`).join(", ");
  const title = `rank ${before} in the first stage${columns ? ` (ranks: ${columns})` : ""}`;
  if (!moved) return [];
  return [make("span", { className: moved > 0 ? "up" : "down", title },
    make("span", { textContent: `${moved > 0 ? "▲" : "▼"} from ${before}`, attributes: { "aria-hidden": "true" } }),
    make("span", { className: "hidden", textContent: `${moved > 0 ? "up" : "down"} ${Math.abs(moved)}, ${title}` })), " · "];
}

export function showMore() {
  const before = byId("list").children.length;
  state.limit += PAGE;
  drawList();
  byId("list").children[before]?.querySelector(".title").focus();
}

function toggleMore(i) {
  if (!state.open.delete(i)) state.open.add(i);
  drawList();
}

function compareBox(i) {
  const { id } = documentOf(i);
  const box = make("input", { type: "checkbox", checked: state.shown.includes(i), onchange: () => actions.compare(i), attributes: { "data-key": `show ${i}` } });
  return make("label", { className: "compare" }, box, "Show beside another", make("span", { className: "hidden", textContent: id }));
}

function shares(i) {
  const blended = state.blended[i], { scores } = documentOf(i);
  if (!blended) return "";
  const columns = Object.keys(scores).map((name) => [name, decimal(scores[name]), decimal(blended.shares[name])]);
  const lines = blended.best.map((number, rank) => [`sentence ${rank + 1}`, decimal(blended.sentences[number].score), decimal(blended.shares[`sentence ${rank + 1}`])]);
  const intercept = blended.shares.intercept === undefined ? [] : [["intercept", "", decimal(blended.shares.intercept)]];
  return make("div", { className: "shares" }, table(["document", "value", "share"], [...columns, ...lines, ...intercept]), sentenceShares(i));
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
export function drawChart() {
  const scored = state.order.filter((i) => state.blended[i]), scores = scored.map((i) => state.blended[i].score);
  const high = greatest(scores), low = least(scores), hasProbability = scored.some((i) => probabilityOf(documentOf(i)) !== null);
  const valueOf = (i) => {
    if (!state.blended[i]) return 0;
    return hasProbability ? probabilityOf(documentOf(i)) ?? 0 : (state.blended[i].score - low) / (high - low || 1);
  };
  const points = state.order.map((i) => ({ i, value: valueOf(i), decision: decisionOf(gradeOf(i)) }));
  const chart = listChart(points, state.current);
  chart.addEventListener("click", (event) => {
    const { left, width } = chart.getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * points.length);
    actions.select(points[Math.max(0, Math.min(at, points.length - 1))].i, true);
  });
  byId("chart").replaceChildren(chart, make("figcaption", { className: "hint" },
    `${hasProbability ? "Probability of relevance" : "Score"} by rank. `,
    ...["included", "maybe", "excluded", "undecided"].map((name) => make("span", {}, mark(name), ` ${name} `))));
}

function mark(decision) {
  const shape = decision === "excluded" ? draw("path", { class: `mark ${decision}`, d: "M2 2l8 8m0 -8l-8 8" }) : draw("circle", { class: `mark ${decision}`, cx: "6", cy: "6", r: "4" });
  return draw("svg", { viewBox: "0 0 12 12", class: "key", "aria-hidden": "true" }, shape);
}

/** What is done and what remains, and whether stopping is advised. */
export function drawTally() {
  const { included, maybe, excluded, decided, left, total } = state.decisions.counts();
  byId("tally").textContent = `${decided} decided, ${left} to go: ${included} included, ${maybe} maybe, ${excluded} excluded`;
  byId("stop").textContent = advice(state.decisions.sequence(), total);
  for (const [name, value] of Object.entries({ included, maybe, excluded })) byId(`done-${name}`).style.width = `${(100 * value) / (total || 1)}%`;
  byId("undo").disabled = !state.decisions.past.length;
}
