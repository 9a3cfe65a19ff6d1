// Files that the page saves. RIS and CSV have what `mpir rerank --output` writes, and the reader's decisions.

import { bestSentence, textOf } from "./texts.mjs";
import { decisionOf } from "./decisions.mjs";

const line = (text) => String(text ?? "").replace(/\s+/g, " ").trim();

/** The grade of a document among decisions by id. */
const gradeIn = (grades, id) => grades.get(String(id))?.grade;

/** The numbers of the documents with a grade above 0, or of all where none is graded, in an order. */
function chosen(data, order, grades) {
  const isGraded = [...grades.values()].some(({ grade }) => grade !== null);
  return order.filter((i) => !isGraded || gradeIn(grades, data.documents[i].id) > 0);
}

function best(document, blended) {
  const number = blended ? bestSentence(document.sentences, blended.sentences) : -1;
  return number < 0 ? null : document.sentences[number];
}

/** The number that a file shows first: the probability or, without calibration, the score; its name and its text. */
function measure({ calibrated }, { probability }, blended) {
  if (!calibrated) return ["blended score", blended?.score.toFixed(4) ?? ""];
  return ["probability", probability?.toFixed(3) ?? ""];
}

/** References as RIS, for reference managers: the documents with a grade above 0, or all where none is graded. */
export function ris(data, order, blended, grades) {
  const ranks = new Map(order.map((i, at) => [i, at + 1])), others = othersOf(data);
  return chosen(data, order, grades).map((i) => {
    const document = data.documents[i], { id, sections, record } = document, { grade = null, note = "" } = grades.get(String(id)) ?? {};
    const [name, value] = measure(data, document, blended[i]), sentence = best(document, blended[i]), [type, ...known] = record.reference;
    const text = `mpir: rank ${ranks.get(i)} of ${order.length}, ${name} ${value}, for: ${data.query}`
      + (sentence ? ` Best sentence${sentence.says ? ` (${sentence.says})` : ""}: ${textOf(document, sentence)}` : "");
    const fields = [type, ["KW", `mpir rank ${String(ranks.get(i)).padStart(4, "0")}`], ["KW", `mpir ${name} ${value}`],
      ["KW", grade === null ? "" : `mpir ${decisionOf(grade)}`], ...known, ["AB", sections.abstract], ["N1", text], ...record.tags,
      ["N1", others.has(id) ? `Decisions of others: ${others.get(id)}` : ""],
      ["N1", grade === null && !note ? "" : `Grade ${grade ?? "none"}. ${note}`]];
    const lines = fields.filter(([, content]) => line(content)).map(([tag, content]) => `${tag}  - ${line(content)}\n`);
    return `${lines.join("")}ER  - \n\n`;
  }).join("");
}

const FORMULA = /(^|;)(?=[\s"]*(?:[=@＝＠＋－]|[+-](?!\d+\.?\d*\s*(?:;|$))))/g;

/** A cell of a CSV file; what a spreadsheet would compute has an apostrophe before it. */
function cell(value) {
  const text = typeof value === "number" ? String(value) : line(value).replace(FORMULA, "$1'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What other people decided on each document, such as "grace: excluded", by id. */
function othersOf({ grades }) {
  const others = new Map();
  for (const { id, grade, reviewer } of grades?.others ?? []) {
    if (grade !== null) others.set(id, [...others.get(id) ?? [], `${reviewer}: ${decisionOf(grade)}`]);
  }
  return new Map([...others].map(([id, decisions]) => [id, decisions.join("; ")]));
}

/** All documents in an order with their decisions, as a CSV file that spreadsheets open. */
export function csv(data, order, blended, grades) {
  const others = othersOf(data), numbers = [...Object.keys(data.documents[order[0]].scores ?? {}), ...data.shown ?? []].map((name) => headOf(data, name));
  const names = new Set(numbers.map((name) => name.toLowerCase())), sourceHead = (name) => names.has(name.toLowerCase()) ? `${name} (source)` : name;
  const rows = order.map((i, at) => row(data, i, at + 1, blended[i], grades, others, sourceHead));
  const always = ["rank", "document", "decision", "grade", "note", "title", "blended score", ...numbers, "best sentence"];
  const [ids, known] = [data.heads.slice(0, 2), data.heads.slice(2)];
  const heads = ["rank", "document", "decision", "decisions of others", "grade", "note", ...ids, "title", ...known, "probability", "blended score", ...numbers,
    "best sentence says", "best sentence", "abstract", ...data.further_heads, ...order.flatMap((i) => data.documents[i].record.columns.map(sourceHead))];
  const kept = [...new Set(heads)].filter((head) => always.includes(head) || rows.some((values) => cell(values[head])));
  return `\ufeff${[kept, ...rows.map((values) => kept.map((head) => values[head]))].map((cells) => `${cells.map(cell).join(",")}\r\n`).join("")}`;
}

/** The column name of a score; another column may have the score's own name. */
const headOf = (data, name) => data.score_heads?.[name] ?? name;

function row(data, i, rank, blended, grades, others, sourceHead) {
  const document = data.documents[i], { id, sections, record, probability, scores } = document, { grade, note } = grades.get(String(id)) ?? {};
  const sentence = best(document, blended), shown = (data.shown ?? []).map((name) => [name, sentence?.scores[name]]);
  const numbers = { probability, "blended score": blended?.score, ...Object.fromEntries([...Object.entries(scores ?? {}), ...shown].map(([name, value]) => [headOf(data, name), value])) };
  const cells = Object.entries(record.cells).map(([name, text]) => [record.columns.includes(name) ? sourceHead(name) : name, text]);
  return {
    ...Object.fromEntries(cells), rank, document: id, decision: decisionOf(grade), "decisions of others": others.get(id), grade, note, title: sections.title,
    ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, value?.toFixed(4)])),
    "best sentence says": sentence?.says, "best sentence": sentence && textOf(document, sentence), abstract: sections.abstract,
  };
}

/** A JSON line for each question with a grade: its words, documents and their grades, for `mpir score --graded`. */
export function gradedLines(sessions) {
  return sessions.filter(({ grades }) => grades.size).map(({ data, grades }) => {
    // JSON leaves undefined values out.
    const documents = data.documents.map(({ id, sections, scores = {} }) => ({ id, ...sections, score: scores.bm25, grade: gradeIn(grades, id) ?? undefined }));
    return `${JSON.stringify({ query: data.query, documents })}\n`;
  }).join("");
}

/** The graded documents as TREC qrels. */
export function qrels(data, grades, query = "1") {
  return data.documents.map(({ id }) => [id, gradeIn(grades, id) ?? null])
    .filter(([id, grade]) => grade !== null && !/\s/.test(id))
    .map(([id, grade]) => `${query} 0 ${id} ${grade}\n`).join("");
}
