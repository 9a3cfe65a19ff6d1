// The texts that are shown, each with its decision, its note and where its evidence lies.

import { greatest, least } from "./blend.mjs";
import { textChart } from "./charts.mjs";
import { byId, decimal, make } from "./elements.mjs";
import { actions, documentOf, gradeOf, isNarrow, probabilityOf, state } from "./state.mjs";
import { isRetracted, nameOf, percent, pieces } from "./texts.mjs";

const CHOICES = [[2, "Include", "I"], [1, "Maybe", "M"], [0, "Exclude", "E"]];

/** The three buttons that decide on a document; the pressed one takes the decision back. */
export function decisionButtons(i, where) {
  const grade = gradeOf(i), { id } = documentOf(i);
  return make("div", { className: "decide", attributes: { role: "group", "aria-label": `Decision on ${id}` } },
    ...CHOICES.map(([value, word, key]) => {
      const isPressed = grade !== null && (value === 2 ? grade >= 2 : grade === value);
      return make("button", {
        type: "button", className: word.toLowerCase(), textContent: word, title: `${word} (${key} or ${value})`,
        onclick: () => actions.decide(i, isPressed ? null : value, where === "sheet" && isNarrow()),
        attributes: { "aria-pressed": String(isPressed), "data-key": `${where} ${value} ${i}` },
      });
    }));
}

/** A link to a document's record, and its journal, year and type of study, where they are known. */
export function recordOf(i) {
  const { id, record = {} } = documentOf(i), journal = [record.journal, record.year].filter(Boolean).join(", ");
  const retracted = isRetracted(documentOf(i)) ? [make("strong", { className: "retracted", textContent: "Retracted" })] : [];
  const name = record.url?.includes("//pubmed.") ? "PubMed" : record.url?.includes("//doi.org/") ? "DOI" : "Record";
  const link = record.url ? [make("a", {
    href: record.url, target: "_blank", rel: "noopener noreferrer", textContent: name, attributes: { "aria-label": `${name} of ${id}` },
  })] : [];
  const study = record.study_type ? [record.study_type] : [record.types ?? []].flat().slice(0, 2);
  const items = [...retracted, ...link, ...(journal ? [journal] : []), ...study];
  return items.flatMap((item) => [" · ", item]).concat();
}

export function drawPanes() {
  const every = state.blended.flatMap((one) => one.sentences.map((sentence) => sentence.score));
  const low = least(every), width = greatest(every) - low || 1;
  byId("panes").replaceChildren(...state.shown.map((i) => pane(i, (score) => (score - low) / width)));
  byId("back").hidden = !isNarrow();
}

function pane(i, height) {
  const found = documentOf(i), rank = state.order.indexOf(i) + 1;
  const heading = make("h3", { textContent: nameOf(found) });
  const details = make("p", { className: "place" }, `Rank ${rank} of ${state.order.length}`, ` · id ${found.id}`, ...recordOf(i));
  const isCurrent = i === state.current;
  const note = make("textarea", {
    rows: 2, maxLength: 10_000, value: state.decisions.note(found.id), placeholder: "Reason, population, what to check …",
    attributes: { "data-key": `note ${i}` }, onchange: (event) => actions.note(i, event.target.value.trim()),
  });
  const decide = make("div", { className: "verdict" }, decisionButtons(i, "sheet"),
    make("button", { type: "button", className: "quiet", textContent: "Next undecided", title: "N", onclick: () => actions.nextUndecided() }));
  return make("article", { className: isCurrent ? "current" : "", attributes: { "aria-label": `Document ${found.id}` } },
    heading, details, decide, ...evidence(i, height), ...texts(i, height),
    make("label", { className: "note" }, "Note", note));
}

/** The chart of a document's sentences, which leads to each of them. */
function evidence(i, height) {
  const { sentences } = documentOf(i), blended = state.blended[i];
  if (!blended || sentences.length < 2) return [];
  const bars = sentences.map((sentence, number) => ({
    length: sentence.end - sentence.begin, value: height(blended.sentences[number].score), rank: blended.best.indexOf(number),
  }));
  const words = blended.best.length ? "Each bar is a sentence; the blue ones count for the document." : "Each bar is a sentence.";
  const chart = textChart(bars);
  chart.addEventListener("click", ({ target }) => {
    const at = target.dataset?.at;
    if (at !== undefined) byId("panes").querySelector(`[data-sentence="${i} ${at}"]`)?.scrollIntoView({ block: "center" });
  });
  return [make("figure", { className: "evidence" }, chart, make("figcaption", { className: "hint", textContent: words }))];
}

function texts(i, height) {
  const found = documentOf(i), blended = state.blended[i];
  const sections = Object.entries(found.sections).filter(([name, text]) => text && name !== "title");
  const parts = blended?.best.some((number) => found.sentences[number].section === "title") || !sections.length
    ? Object.entries(found.sections).filter(([, text]) => text) : sections;
  return parts.map(([section, text]) => {
    const paragraph = make("p", { className: "text" });
    for (const [piece, number] of pieces(text, section, blended ? found.sentences : [])) {
      paragraph.append(number < 0 ? piece : sentenceOf(i, number, piece, height));
    }
    return paragraph;
  });
}

function sentenceOf(i, number, piece, height) {
  const blended = state.blended[i], rank = blended.best.indexOf(number), { score } = blended.sentences[number];
  const { says } = documentOf(i).sentences[number];
  const probability = probabilityOf(documentOf(i).sentences[number]);
  const span = make("span", {
    className: rank < 0 ? "sentence" : "sentence best", attributes: { "data-sentence": `${i} ${number}` },
    title: probability === null ? `score ${decimal(score)}` : `answers: ${percent(probability)}`,
  }, piece);
  if (rank < 0) return span;
  span.append(make("span", { className: "badge" }, make("span", { className: "hidden", textContent: " best sentence " }), `${rank + 1}${says ? ` ${says}` : ""}`));
  span.style.setProperty("--shade", String(0.6 * height(score)));
  return span;
}
