// Order what is undecided by the decisions: what mpir/evaluate/screening.py does, with which a test compares it.

import { greatest, zscores } from "./blend.mjs";

const PENALTY = 0.03, BALANCE = 9.8, TITLE = 0.3, QUESTION = 0.2, TOLERANCE = 1e-8, SWEEPS = 1000;
/** The decisions between two new orders, so that the list does not move under the reader. */
export const STEP = 10;

/** Features of documents with sections: a row of `terms` (numbers) and `values` for each; and how many terms there are. */
export function vectorsOf(documents) {
  const whole = tfidf(documents.map(({ sections }) => Object.values(sections).join(" ")), 1, 0);
  const title = tfidf(documents.map(({ sections }) => sections.title ?? ""), Math.sqrt(TITLE), whole.count);
  const rows = whole.rows.map(({ terms, values }, i) => ({
    terms: Int32Array.of(...terms, ...title.rows[i].terms), values: Float64Array.of(...values, ...title.rows[i].values) }));
  return { count: whole.count + title.count, rows };
}

/** TF-IDF of one- and two-word terms, each row of a given length; the terms' numbers begin at `first`. */
function tfidf(texts, length, first) {
  const words = new Map(), pairs = new Map(), inDocuments = [];
  const numberOf = (numbers, key) => {
    if (!numbers.has(key)) { numbers.set(key, inDocuments.length); inDocuments.push(0); }
    return numbers.get(key);
  };
  const counted = texts.map((text) => {
    const own = Array.from(text.toLowerCase().matchAll(/[\p{L}\p{N}_]{2,}/gu), ([word]) => numberOf(words, word)), counts = new Map();
    // A pair's key is one number, because millions of strings would take long.
    const all = own.concat(own.slice(1).map((word, i) => numberOf(pairs, own[i] * 2 ** 26 + word)));
    for (const term of all) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const term of counts.keys()) inDocuments[term] += 1;
    return [Int32Array.from(counts.keys()), Float64Array.from(counts.values())];
  });
  const rarity = inDocuments.map((n) => Math.log((1 + texts.length) / (1 + n)) + 1);
  const rows = counted.map(([terms, counts]) => {
    const values = counts.map((count, k) => (1 + Math.log(count)) * rarity[terms[k]]), scale = length / (Math.sqrt(squares(values)) || 1);
    return { terms: terms.map((term) => first + term), values: values.map((value) => scale * value) };
  });
  return { count: inDocuments.length, rows };
}

const squares = (values) => values.reduce((total, value) => total + value * value, 0);

/** Values in an order that depends on a seed alone. */
function shuffled(values, seed) {
  const copy = [...values];
  let state = seed + 1;
  for (let k = copy.length - 1; k > 0; k -= 1) {
    state = (state * 48271) % 2147483647;
    const other = state % (k + 1);
    [copy[k], copy[other]] = [copy[other], copy[k]];
  }
  return copy;
}

/** The distance of each row, and of its number in `extra`, from the plane of a support vector machine with squared hinge loss. */
function margins({ count, rows }, extra, decisions) {
  const plane = new Float64Array(count), relevantCount = decisions.filter(([, relevant]) => relevant).length;
  let ofExtra = 0, ofAll = 0;
  const margin = (i) => {
    const { terms, values } = rows[i];
    let total = ofExtra * extra[i] + ofAll;
    for (let k = 0; k < terms.length; k += 1) total += plane[terms[k]] * values[k];
    return total;
  };
  const points = decisions.map(([i, relevant]) => {
    const weight = ((relevant ? BALANCE / relevantCount : 1 / (decisions.length - relevantCount)) * decisions.length) / (1 + BALANCE);
    const slack = 1 / (2 * PENALTY * weight);
    return { i, sign: relevant ? 1 : -1, slack, curvature: squares(rows[i].values) + extra[i] ** 2 + 1 + slack, dual: 0 };
  });
  // Coordinate descent on the dual problem, as in LIBLINEAR (Hsieh et al. 2008).
  const step = (point) => {
    const { i, sign, slack, curvature, dual } = point, gradient = sign * margin(i) - 1 + slack * dual;
    point.dual = Math.max(0, dual - gradient / curvature);
    const change = sign * (point.dual - dual), { terms, values } = rows[i];
    if (!change) return 0;
    for (let k = 0; k < terms.length; k += 1) plane[terms[k]] += change * values[k];
    ofExtra += change * extra[i];
    ofAll += change;
    return Math.abs(gradient);
  };
  // In random order it needs a twentieth of the sweeps.
  for (let sweep = 0; sweep < SWEEPS && greatest(shuffled(points, sweep).map(step)) > TOLERANCE; sweep += 1);
  return rows.map((_, i) => margin(i));
}

/** A score for each document, from those before any decision and from decisions: pairs of place and relevant or not. */
export function learned(vectors, before, decisions) {
  const relevantCount = decisions.filter(([, relevant]) => relevant).length, scores = zscores(before);
  if (!relevantCount || relevantCount === decisions.length) return scores;
  const [words, both] = [0, QUESTION].map((factor) => zscores(margins(vectors, scores.map((score) => factor * score), decisions)));
  return words.map((value, i) => (value + both[i]) / 2);
}

/** Places of documents anew: first those decided in whole tens of decisions, as they were, then the rest by `learned`. */
export function orderLearned(order, vectors, before, decisions) {
  const counted = decisions.slice(0, decisions.length - (decisions.length % STEP));
  const decided = new Set(counted.map(([i]) => i)), scores = learned(vectors, before, counted);
  return [...order.filter((i) => decided.has(i)), ...order.filter((i) => !decided.has(i)).sort((a, b) => scores[b] - scores[a])];
}
