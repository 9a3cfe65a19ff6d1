// The filter of the list: words, "phrases", -exclusions, OR, years, publication types, grades and decisions.

import { decisionOf } from "./decisions.mjs";

const TERM = /(-?)(?:(year|type|grade|is|author|journal):)?(?:"([^"]*)"?|(\S+))/giu;

/** A filter as a list of alternatives' lists: all groups must hold, and of each group one term. */
export function parseFilter(text) {
  const groups = [];
  let joins = false;
  for (const [, minus, field = "", phrase, word] of text.matchAll(TERM)) {
    if (!minus && !field && word === "OR") { joins = groups.length > 0; continue; }
    const value = (phrase ?? word).toLowerCase().trim();
    if (!value) continue;
    const term = { negated: minus === "-", field: field.toLowerCase(), value, quoted: phrase !== undefined };
    if (joins) groups.at(-1).push(term);
    else groups.push([term]);
    joins = false;
  }
  return groups;
}

const squeezed = (values) => values.flat().filter(Boolean).join(" ").toLowerCase().replace(/\s+/g, " ");

const YEARS = /^(\d{4})?(?:[-–](\d{4})?)?$/;

function inYears(record, value) {
  const year = Number(/\d{4}/.exec(record.year ?? "")?.[0]), [range, from, to] = YEARS.exec(value) ?? [];
  if (!range || !year) return false;
  const last = /[-–]/.test(range) ? to ?? Infinity : from;
  return year >= Number(from ?? 0) && year <= Number(last);
}

const FIELDS = {
  year: ({ record = {} }, _, value) => inYears(record, value),
  type: ({ record = {} }, _, value) => squeezed([record.types]).includes(value),
  author: ({ record = {} }, _, value) => squeezed([record.authors]).includes(value),
  journal: ({ record = {} }, _, value) => squeezed([record.journal]).includes(value),
  grade: (_, grade, value) => String(grade ?? "none") === value,
  is: (document, grade, value) => (value === "retracted" ? document.record?.retracted === true : decisionOf(grade) === value),
};

function holds(document, grade, { negated, field, value, quoted }) {
  const { sections, record = {}, id } = document;
  if (FIELDS[field]) return FIELDS[field](document, grade, value) !== negated;
  if (!quoted && /^\d{4}[-–]\d{4}$/.test(value)) return inYears(record, value) !== negated;
  const text = squeezed([Object.values(sections), record.journal, record.authors, record.year, id]);
  return text.includes(value.replace(/\s+/g, " ")) !== negated;
}

const VALUES = { year: YEARS, grade: /^([0-3]|none)$/, is: /^(undecided|included|maybe|excluded|retracted)$/ };
const FIELD = /^-?([a-z]+):(?!\/\/|\S*\d)/i;

/** The terms of a filter that no document can pass as they were meant: unknown fields, and values that a field never has. */
export function misunderstood(text) {
  const odd = parseFilter(text).flat().filter(({ field, value }) => VALUES[field] && !VALUES[field].test(value));
  const words = [...text.matchAll(TERM)].filter(([, , field, phrase, word]) => !field && phrase === undefined && FIELD.test(word ?? ""));
  return [...odd.map(({ field, value }) => `${field}:${value}`), ...words.map(([, , , , word]) => word)];
}

/** Whether a document with a grade passes a filter. */
export function passes(document, grade, filter) {
  return parseFilter(filter).every((group) => group.some((term) => holds(document, grade, term)));
}
