// The texts of the page: titles, pieces of documents, the best sentence, probabilities.

/** A section's text in pieces: [text, sentence number or -1]. Offsets count code points, as Python does. */
export function pieces(text, section, sentences) {
  const points = Array.from(text), found = [];
  let at = 0;
  sentences.forEach((sentence, number) => {
    if (sentence.section !== section) return;
    if (sentence.begin > at) found.push([points.slice(at, sentence.begin).join(""), -1]);
    found.push([points.slice(sentence.begin, sentence.end).join(""), number]);
    at = sentence.end;
  });
  if (at < points.length) found.push([points.slice(at).join(""), -1]);
  return found;
}

/** The question as far as it was read, and how much of it was not. */
export function asked(data) {
  if (!data.unread) return data.query;
  const read = Array.from(data.query).slice(0, -data.unread).join("");
  return `${read} … (${data.unread} more characters were not read)`;
}

/** What a document is called: its whole title or, without one, how its text begins, to the end of a word. */
export function nameOf({ id, sections }) {
  if (sections.title?.trim()) return sections.title.trim();
  const text = (sections.abstract || "").trim(), points = Array.from(text);
  if (points.length <= 90) return text || `Document ${id}`;
  return `${points.slice(0, 81).join("").match(/^.{40,}(?=\s)/su)?.[0].trimEnd() ?? points.slice(0, 80).join("")} …`;
}

/** The number of the sentence to show: the body's best, as RankedDocument.best_sentence has it, or -1. */
export function bestSentence(sentences, blended) {
  const whole = sentences.map((_, i) => i).filter((i) => !sentences[i].fragment);
  const order = (whole.length ? whole : sentences.map((_, i) => i)).sort((a, b) => blended[b].score - blended[a].score || a - b);
  const body = order.find((i) => sentences[i].section !== "title"), title = order.find((i) => sentences[i].section === "title");
  if (body === undefined || title === undefined) return body ?? title ?? -1;
  const [low, high] = [sentences[body].probability, sentences[title].probability];
  return low !== null && high !== null && low < ANSWERS && high >= ANSWERS ? title : body;
}

const ANSWERS = 0.02;
/** A probability in words that claim no more digits than it has. */
export const percent = (value) => (value < 0.01 ? "under 1 %" : value > 0.99 ? "over 99 %" : `${Math.round(100 * value)} %`);

/** A part of a document's section, by offsets that count code points. */
export const textOf = ({ sections }, { section, begin, end }) => Array.from(sections[section]).slice(begin, end).join("");

/** Whether a record says that the paper was retracted. */
export const isRetracted = ({ record = {} }) => Boolean(record.retracted)
  || [record.types ?? []].flat().some((type) => /^retracted( publication| article| paper)?$/i.test(type));

/** How far a document moved from its rank in the first stage; 0 if others had the same rank there. */
export function movement(rank, before, tied) {
  return tied ? 0 : before - rank;
}
