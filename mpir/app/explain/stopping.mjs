// When screening may stop: the test in mpir/evaluate/stopping.py, with which a test compares it.

import { least } from "./blend.mjs";

export const RECALL = 0.95, CONFIDENCE = 0.995;

/** P(X <= k) of the hypergeometric distribution: a sample without replacement from an urn with marked ones. */
function cumulative(k, urn, marked, sample, logs) {
  const choose = (n, m) => logs[n] - logs[m] - logs[n - m];
  let total = 0;
  for (let x = Math.max(0, sample - (urn - marked)); x <= Math.min(k, marked, sample); x += 1) {
    total += Math.exp(choose(marked, x) + choose(urn - marked, sample - x) - choose(urn, sample));
  }
  return Math.min(1, total);
}

/** The p-value of a recall below the target, from decisions (relevant or not) in the order of reading. */
export function stoppingTest(decisions, candidates, recall = RECALL) {
  const starts = [0, ...decisions.flatMap((relevant, i) => (relevant ? [i + 1] : []))], found = starts.length - 1;
  const missed = Math.floor(found / recall + 1e-9) + 1;
  if (missed - found > candidates - decisions.length) return 0;
  const logs = [0]; // the logarithms of factorials
  for (let k = 1; k <= candidates; k += 1) logs.push(logs[k - 1] + Math.log(k));
  return least(starts.map((start, before) => (
    cumulative(found - before, candidates - start, missed - before, decisions.length - start, logs))));
}

/** The sentence above the list: whether reading may stop, by the decisions in the order in which they were made. */
export function advice(decisions, candidates) {
  const relevant = decisions.filter(Boolean).length, left = candidates - decisions.length;
  if (!decisions.length) return "Advice on stopping appears here as you decide.";
  if (!left) return `All ${candidates} documents are decided.`;
  const p = stoppingTest(decisions, candidates), doubt = `a recall below ${Math.round(100 * RECALL)} % is`;
  if (p < 1 - CONFIDENCE) return `You may stop: ${relevant} relevant found, and ${doubt} unlikely (p = ${p.toFixed(3)}, in the order of your decisions).`;
  return `Read on: ${doubt} not ruled out yet (p = ${p.toFixed(3)} in the order of your decisions; stop below ${(1 - CONFIDENCE).toFixed(3)}).`;
}
