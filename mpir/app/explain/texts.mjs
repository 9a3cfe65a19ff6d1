// The texts of the page: titles, pieces of documents, the best sentence, probabilities.

/** A section's text in pieces: [text, sentence number or -1]. Offsets count code points, as Python does. */
export function pieces(text, section, sentences) {
  const points = Array.from(text), cut = (begin, end) => points.slice(begin, end).join(""), all = [];
  let at = 0;
  for (const [number, { section: own, begin, end }] of sentences.entries()) {
    if (own !== section) continue;
    all.push([cut(at, begin), -1], [cut(begin, end), number]);
    at = end;
  }
  return [...all, [cut(at), -1]].filter(([piece]) => piece);
}

/** The number of the sentence to show: the body's best, as RankedDocument.best_sentence has it, or -1. */
export function bestSentence(sentences, blended) {
  const order = [...sentences.keys()].sort((a, b) => blended[b].score - blended[a].score || a - b);
  const whole = order.filter((i) => !sentences[i].fragment);
  const [body, title] = [false, true].map((isTitle) => (whole.length ? whole : order).find((i) => (sentences[i].section === "title") === isTitle));
  if (body === undefined || title === undefined) return body ?? title ?? -1;
  return sentences[body].probability < ANSWERS && sentences[title].probability >= ANSWERS ? title : body;
}

const ANSWERS = 0.02;
/** A probability in words that claim no more digits than it has. */
export const percent = (value) => (value < 0.01 ? "under 1 %" : value > 0.99 ? "over 99 %" : `${Math.round(100 * value)} %`);

/** A part of a document's section, by offsets that count code points. */
export const textOf = ({ sections }, { section, begin, end }) => Array.from(sections[section]).slice(begin, end).join("");
