// The texts that are shown, each with its decision, its note and where its evidence lies.

import { greatest, least } from "./blend.mjs";
import { textChart } from "./charts.mjs";
import { byId, decimal, make } from "./elements.mjs";
import { actions, documentOf, gradeOf, isNarrow, probabilityOf, state } from "./state.mjs";
import { percent, pieces } from "./texts.mjs";

const CHOICES = [[2, "Include", "I"], [1, "Maybe", "M"], [0, "Exclude", "E"]];

/** The three buttons that decide on a document; the pressed one takes the decision back. */
export function decisionButtons(i, where) {
  const grade = gradeOf(i), { id } = documentOf(i);
  return make("div", { className: "decide", role: "group", ariaLabel: `Decision on ${id}` },
    CHOICES.map(([value, word, key]) => {
      const ariaPressed = grade !== null && Math.min(grade, 2) === value;
      return make("button", {
        className: word.toLowerCase(), title: `${word} (${key} or ${value})`, ariaPressed, data: { key: `${where} ${value} ${i}` },
        onclick: () => actions.decide(i, ariaPressed ? null : value, where === "sheet" && isNarrow()),
      }, word);
    }));
}

/** A link to a document's record, and its journal, year and type of study, where they are known. */
export function recordOf(i) {
  const { id, record = {} } = documentOf(i), journal = [record.journal, record.year].filter(Boolean).join(", ");
  const name = record.url?.includes("//pubmed.") ? "PubMed" : record.url?.includes("//doi.org/") ? "DOI" : "Record";
  const retracted = record.retracted && make("strong", { className: "retracted" }, "Retracted");
  const link = record.url && make("a", { href: record.url, target: "_blank", rel: "noopener noreferrer", ariaLabel: `${name} of ${id}` }, name);
  const study = record.study_type || (record.types ?? []).slice(0, 2);
  return [retracted, link, journal, study].flat().filter(Boolean).flatMap((item) => [" · ", item]);
}

export function drawPanes() {
  const every = state.blended.flatMap((one) => one.sentences.map((sentence) => sentence.score));
  const low = least(every), width = greatest(every) - low || 1;
  byId("panes").replaceChildren(...state.shown.map((i) => pane(i, (score) => (score - low) / width)));
}

function pane(i, height) {
  const item = documentOf(i), rank = state.order.indexOf(i) + 1;
  const note = make("textarea", {
    rows: 2, maxLength: 10_000, value: state.decisions.note(item.id), placeholder: "Reason, population, what to check …",
    data: { key: `note ${i}` }, onchange: (event) => actions.note(i, event.target.value.trim()),
  });
  return make("article", { ariaLabel: `Document ${item.id}` },
    make("h3", {}, item.name),
    make("p", { className: "place" }, `Rank ${rank} of ${state.order.length} · id ${item.id}`, recordOf(i)),
    make("div", { className: "verdict" }, decisionButtons(i, "sheet"),
      make("button", { className: "quiet", title: "N", onclick: () => actions.nextUndecided() }, "Next undecided")),
    evidence(i, height), texts(i, height), make("label", { className: "note" }, "Note", note));
}

/** The chart of a document's sentences, which leads to each of them. */
function evidence(i, height) {
  const { sentences } = documentOf(i), blended = state.blended[i];
  if (!blended || sentences.length < 2) return "";
  const bars = sentences.map((sentence, number) => ({
    length: sentence.end - sentence.begin, value: height(blended.sentences[number].score), rank: blended.best.indexOf(number),
  }));
  const words = `Each bar is a sentence${blended.best.length ? "; the blue ones count for the document" : ""}.`;
  const chart = textChart(bars);
  chart.addEventListener("click", ({ target }) => {
    const at = target.dataset?.at;
    if (at !== undefined) byId("panes").querySelector(`[data-sentence="${i} ${at}"]`)?.scrollIntoView({ block: "center" });
  });
  return make("figure", { className: "evidence" }, chart, make("figcaption", { className: "hint" }, words));
}

function texts(i, height) {
  const { sections, sentences } = documentOf(i), blended = state.blended[i], every = Object.entries(sections).filter(([, text]) => text);
  const body = every.filter(([name]) => name !== "title"), hasTitle = !body.length || blended?.best.some((number) => sentences[number].section === "title");
  return (hasTitle ? every : body).map(([section, text]) => make("p", { className: "text" },
    pieces(text, section, blended ? sentences : []).map(([piece, number]) => (number < 0 ? piece : sentenceOf(i, number, piece, height)))));
}

function sentenceOf(i, number, piece, height) {
  const blended = state.blended[i], rank = blended.best.indexOf(number), { score } = blended.sentences[number];
  const sentence = documentOf(i).sentences[number], probability = probabilityOf(sentence);
  const span = make("span", {
    className: rank < 0 ? "sentence" : "sentence best", data: { sentence: `${i} ${number}` },
    title: probability === null ? `score ${decimal(score)}` : `answers: ${percent(probability)}`,
  }, piece);
  if (rank < 0) return span;
  span.append(make("span", { className: "badge" }, make("span", { className: "hidden" }, " best sentence "), `${rank + 1} ${sentence.says}`.trim()));
  span.style.setProperty("--shade", `${60 * height(score)}%`);
  return span;
}
