// Files that the page saves. RIS and CSV have what `mpir rerank --output` writes, and the reader's decisions.

import { bestSentence, isRetracted, textOf } from "./texts.mjs";
import { decisionOf } from "./decisions.mjs";

const line = (text) => String(text ?? "").replace(/\s+/g, " ").trim();

/** The decisions of a list by document id: grade and note. */
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
  if (!calibrated) return ["blended score", blended ? blended.score.toFixed(4) : ""];
  return ["probability", probability === null || probability === undefined ? "" : probability.toFixed(3)];
}

/** References as RIS, for reference managers: the documents with a grade above 0, or all where none is graded. */
export function ris(data, order, blended, grades) {
  const ranks = new Map(order.map((i, at) => [i, at + 1])), others = othersOf(data);
  return chosen(data, order, grades).map((i) => {
    const document = data.documents[i], { id, sections, record = {} } = document, decision = grades.get(String(id));
    const [name, value] = measure(data, document, blended[i]), sentence = best(document, blended[i]);
    const grade = decision?.grade ?? null, [first, last] = (record.pages ?? "").split(/-(.*)/s);
    const note = `mpir: rank ${ranks.get(i)} of ${order.length}, ${name} ${value}, for: ${data.query}`
      + (sentence ? ` Best sentence${sentence.says ? ` (${sentence.says})` : ""}: ${textOf(document, sentence)}` : "");
    const all = (tag, values = []) => values.map((one) => [tag, one]);
    const fields = [["TY", record.reference_type || "JOUR"],
      ["KW", `mpir rank ${String(ranks.get(i)).padStart(4, "0")}`], ["KW", `mpir ${name} ${value}`],
      ["KW", grade === null ? "" : `mpir ${decisionOf(grade)}`], ["AN", id], ["DB", id === record.pmid ? "PubMed" : ""],
      ["TI", sections.title], ...all("AU", record.authors), ["PY", record.year], ["DA", (record.date ?? "").replaceAll("-", "/")],
      ["T2", record.journal], ["J2", record.abbreviation], ["VL", record.volume], ["IS", record.issue], ["SP", first], ["EP", last],
      ["SN", record.issn], ["PB", record.publisher], ["DO", record.doi], ["C2", record.pmcid], ...all("M3", record.types),
      ...all("LA", record.language), ...all("KW", record.keywords), ...all("UR", [...new Set([record.own_url, record.link])]),
      ["AB", sections.abstract], ["N1", note], ...record.tags ?? [],
      ["N1", others.has(id) ? `Decisions of others: ${others.get(id)}` : ""],
      ["N1", grade === null && !decision?.note ? "" : `Grade ${grade ?? "none"}. ${decision.note}`]];
    const lines = fields.filter(([, text]) => line(text)).map(([tag, text]) => `${tag}  - ${line(text)}\n`);
    return `${lines.join("")}ER  - \n\n`;
  }).join("");
}

const FORMULA = /(^|;)(?=[\s"]*(?:[=@＝＠＋－]|[+-](?!\d+\.?\d*\s*(?:;|$))))/g;

/** A cell of a CSV file; what a spreadsheet would compute has an apostrophe before it. */
function cell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "number" ? String(value) : line(value).replace(FORMULA, "$1'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const KNOWN = ["year", "journal", "types"], STANDING = ["type of study", "retracted"];
const FURTHER = ["date", "authors", "volume", "issue", "pages", "reference_type", "language", "keywords", "issn", "publisher",
  "trials", "abbreviation", "pmcid", "nct"];

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
  const others = othersOf(data);
  const rows = order.map((i, at) => ({ ...row(data, i, at + 1, blended[i], grades), "decisions of others": others.get(data.documents[i].id) ?? "" }));
  const scores = Object.keys(data.documents[order[0]].scores ?? {});
  const heads = ["rank", "document", "decision", "decisions of others", "grade", "note", "pmid", "doi", "title", ...KNOWN, ...STANDING, "probability", "blended score",
    ...scores, ...data.shown ?? [], "best sentence says", "best sentence", "abstract", ...FURTHER, "url", ...rows.flatMap(({ columns }) => columns)];
  const always = new Set(["rank", "document", "decision", "grade", "note", "title", "blended score", ...scores, ...data.shown ?? [], "best sentence"]);
  const kept = [...new Set(heads)].filter((head) => always.has(head) || rows.some((values) => values[head] !== undefined && values[head] !== ""));
  return `\ufeff${[kept, ...rows.map((values) => kept.map((head) => values[head]))].map((cells) => `${cells.map(cell).join(",")}\r\n`).join("")}`;
}

function row(data, i, rank, blended, grades) {
  const document = data.documents[i], { id, sections, record = {} } = document, { grade = null, note } = grades.get(String(id)) ?? {};
  const sentence = best(document, blended), decimal = (value) => (typeof value === "number" ? value.toFixed(4) : "");
  const known = Object.fromEntries(["pmid", "doi", ...KNOWN, ...FURTHER].map((name) => [name, [record[name] ?? ""].flat().join("; ")]));
  const numbers = { ...document.scores, ...(sentence ? Object.fromEntries((data.shown ?? []).map((name) => [name, sentence.scores[name]])) : {}) };
  return {
    ...record.columns, columns: Object.keys(record.columns ?? {}), rank, document: id, decision: decisionOf(grade), grade: grade ?? "", note, ...known, title: sections.title,
    probability: decimal(document.probability), "blended score": decimal(blended?.score),
    ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, decimal(value)])),
    "type of study": record.study_type, retracted: isRetracted(document) ? "yes" : "", "best sentence says": sentence?.says,
    "best sentence": sentence ? textOf(document, sentence) : "", abstract: sections.abstract, url: record.own_url,
  };
}

/** A JSON line for each question with a grade: its words, documents and their grades, for `mpir score --graded`. */
export function gradedLines(sessions) {
  return sessions.filter(({ grades }) => grades.size).map(({ data, grades }) => {
    const documents = data.documents.map(({ id, sections, scores = {} }) => ({
      id, ...sections, ...(scores.bm25 === undefined ? {} : { score: scores.bm25 }),
      ...(gradeIn(grades, id) === null || gradeIn(grades, id) === undefined ? {} : { grade: gradeIn(grades, id) }),
    }));
    return `${JSON.stringify({ query: data.query, documents })}\n`;
  }).join("");
}

/** The graded documents as TREC qrels. */
export function qrels(data, grades, query = "1") {
  return data.documents.map(({ id }) => [id, gradeIn(grades, id)])
    .filter(([id, grade]) => grade !== null && grade !== undefined && !/\s/.test(id))
    .map(([id, grade]) => `${query} 0 ${id} ${grade}\n`).join("");
}
