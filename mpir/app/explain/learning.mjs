// Order what is undecided by the decisions: what mpir/evaluate/screening.py does, with which a test compares it.

import { sum } from "./blend.mjs";

const ALPHA = 3.822, TRUST = 5;
/** The decisions between two new orders, so that the list does not move under the reader. */
export const STEP = 10;

/** TF-IDF of texts: for each a Map from term number to weight, of length 1; and the number of terms. */
export function vectorsOf(texts) {
  const numbers = new Map(), inDocuments = [];
  const counted = texts.map((text) => {
    const counts = new Map();
    for (const [term] of text.toLowerCase().matchAll(/[\p{L}\p{N}_]{2,}/gu)) {
      if (!numbers.has(term)) { numbers.set(term, numbers.size); inDocuments.push(0); }
      counts.set(numbers.get(term), (counts.get(numbers.get(term)) ?? 0) + 1);
    }
    for (const k of counts.keys()) inDocuments[k] += 1;
    return counts;
  });
  const rarity = inDocuments.map((n) => Math.log((1 + texts.length) / (1 + n)) + 1);
  return { terms: numbers.size, rows: counted.map((counts) => normalised(counts, rarity)) };
}

function normalised(counts, rarity) {
  const values = [...counts].map(([k, count]) => [k, count * rarity[k]]), length = Math.sqrt(sum(values.map(([, value]) => value ** 2))) || 1;
  return new Map(values.map(([k, value]) => [k, value / length]));
}

function standard(values) {
  const mean = sum(values) / values.length, deviation = Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / values.length) || 1;
  return values.map((value) => (value - mean) / deviation);
}

/** A score for each document, from those before any decision and from decisions: pairs of place and relevant or not. */
export function learned({ terms, rows }, before, decisions) {
  const relevantCount = decisions.filter(([, relevant]) => relevant).length;
  if (!relevantCount || relevantCount === decisions.length) return standard(before);
  const counts = [new Float64Array(terms).fill(ALPHA), new Float64Array(terms).fill(ALPHA)];
  for (const [i, relevant] of decisions) {
    const weight = relevant ? decisions.length / relevantCount : 1;
    for (const [k, value] of rows[i]) counts[Number(relevant)][k] += weight * value;
  }
  const totals = counts.map((values) => values.reduce((total, value) => total + value, 0));
  const odds = (k) => Math.log(counts[1][k] / totals[1]) - Math.log(counts[0][k] / totals[0]);
  const model = standard(rows.map((row) => sum([...row].map(([k, value]) => value * odds(k)))));
  const share = relevantCount / (relevantCount + TRUST);
  return standard(before).map((value, i) => share * model[i] + (1 - share) * value);
}

/** Places of documents anew: first those decided in whole tens of decisions, as they were, then the rest by `learned`. */
export function orderLearned(order, vectors, before, decisions) {
  const counted = decisions.slice(0, decisions.length - (decisions.length % STEP));
  const decided = new Set(counted.map(([i]) => i)), scores = learned(vectors, before, counted);
  return [...order.filter((i) => decided.has(i)), ...order.filter((i) => !decided.has(i)).sort((a, b) => scores[b] - scores[a])];
}
