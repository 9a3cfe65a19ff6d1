// The blend: the same arithmetic as in mpir/core/blend.py, with which a test compares it.

// Not Math.min(...values): a call takes some 100,000 arguments, and long papers have more sentences.
export const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
export const greatest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

/** Values mapped to 0-1; equal ones (or a single one) to 0.5. */
export function minmax(values) {
  const low = least(values), width = greatest(values) - low;
  return values.map((value) => (width > 0 ? (value - low) / width : 0.5));
}

const USUAL = 0.133, FEW = 5;

/** Values brought to mean 0 and deviation 1, that of few values of BM25 to less; equal ones (or a single one) to 0. */
export function zscores(values, bm25 = false) {
  const mean = sum(values) / values.length, centred = values.map((value) => value - mean);
  const more = bm25 && values.every((value) => value >= 0) ? FEW : 0;
  const squares = sum(centred.map((value) => value * value)), own = squares / values.length;
  const toldApart = Math.sqrt(own) > 1e-9 * greatest(values.map(Math.abs));
  const drawn = (squares + more * (USUAL * greatest(values)) ** 2) / (values.length + more);
  const spread = Math.sqrt(Math.max(own, drawn));
  return centred.map((value) => (toldApart ? value / spread : 0));
}

/** A copy of rows of named values, each column but the signed ones mapped by a function of its values and place. */
function scaled(rows, names, scale, signed) {
  const copies = rows.map((row) => ({ ...row }));
  if (scale && rows.length) {
    names.forEach((name, place) => {
      if (signed.has(name)) return;
      scale(rows.map((row) => row[name]), place).forEach((value, i) => { copies[i][name] = value; });
    });
  }
  return copies;
}

const DOCUMENT_SCALES = { minmax, zscore: (values, place) => zscores(values, place === 0) }, SENTENCE_SCALES = { minmax };

export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The greatest factor with which a document's score returns to itself; the fixed point exists below 1. */
export const feedback = (weights) => greatest(
  weights.w.map((_, i) => weights.alpha_context * weights.beta_sentences * sum(weights.w.slice(0, i + 1))));

/**
 * S_SENT and S_DOC of every document and sentence, in the order of the data, with the shares they are made of.
 *
 *   S_SENT = Σ α_k·s_k + α_context·S_CONTEXT        S_DOC = Σ β_k·d_k + β_sentences·Σ w_i·S_SENT(i)
 *
 * With the lines of a calibration, both are the log-odds of probabilities: slope · sum + intercept.
 * Columns in `ordering` only order sentences: S_SENT has them, S_SENT(i) does not.
 */
export function blend(data, weights) {
  const documentNames = Object.keys(Object.assign({}, ...data.documents.map(({ scores }) => scores)));
  const sentenceNames = Object.keys(weights.alpha);
  const ordering = new Set(data.ordering), signed = new Set(data.signed);
  const documentRows = scaled(data.documents.map((document) => document.scores), documentNames, DOCUMENT_SCALES[weights.normalise], signed);
  const all = data.documents.flatMap((document) => document.sentences.map((sentence) => sentence.scores));
  const sentenceRows = scaled(all, sentenceNames, SENTENCE_SCALES[weights.normalise], signed);
  let next = 0;
  return data.documents.map((document, i) => {
    const rows = sentenceRows.slice(next, next += document.sentences.length);
    if (document.reading === "unread" && data.lines) return byWords(document, data.lines.documents.unread, weights);
    const blended = blendDocument(documentRows[i], documentNames, rows, sentenceNames, ordering, weights);
    return data.lines ? onLines(blended, lineOf(data.lines.documents, document), lineOf(data.lines.sentences, document)) : blended;
  });
}

const lineOf = (lines, { reading }) => lines[reading] ?? lines.whole;

/** A document of which no model has read a sentence, on the line of words alone (mpir/core/calibration.py). */
function byWords({ scores }, { slope, intercept }, weights) {
  const shares = Object.fromEntries(Object.keys(scores).map((name) => [name, name === weights.context ? slope * scores[name] : 0]));
  return { score: slope * scores[weights.context] + intercept, shares: { ...shares, intercept }, best: [], sentences: [] };
}

/** Weighted sums mapped to the log-odds of probabilities, with the shares they are made of. */
function onLines({ score, shares, best, sentences }, ofDocument, ofSentences) {
  const map = (item, { slope, intercept }) => ({
    score: slope * item.score + intercept,
    shares: { ...Object.fromEntries(Object.entries(item.shares).map(([name, value]) => [name, slope * value])), intercept },
  });
  return { ...map({ score, shares }, ofDocument), best, sentences: sentences.map((sentence) => map(sentence, ofSentences)) };
}

function blendDocument(columns, documentNames, rows, sentenceNames, ordering, weights) {
  const parts = rows.map((row) => sentenceNames.map((name) => weights.alpha[name] * row[name]));
  const evidence = parts.map((part) => sum(part.filter((_, k) => !ordering.has(sentenceNames[k]))));
  const order = evidence.map((_, i) => i).sort((a, b) => evidence[b] - evidence[a] || a - b);
  const best = order.slice(0, weights.w.length);
  const w = best.map((_, rank) => weights.beta_sentences * weights.w[rank]);
  const own = documentNames.map((name) => (weights.beta[name] ?? 0) * columns[name]);
  const top = best.map((i) => evidence[i]);
  const { score, context, inside } = documentSum(sum(own), top, w, columns, weights);
  const shares = Object.fromEntries(documentNames.map((name, k) => [name, own[k]]));
  best.forEach((_, rank) => {
    shares[`sentence ${rank + 1}`] = w[rank] * (top[rank] + weights.alpha_context * inside);
  });
  const sentences = rows.map((_, i) => ({
    score: sum(parts[i]) + weights.alpha_context * context,
    shares: {
      ...Object.fromEntries(sentenceNames.map((name, k) => [name, parts[i][k]])),
      context: weights.alpha_context * context,
    },
  }));
  return { score, shares, best, sentences };
}

function documentSum(base, top, w, columns, weights) {
  if (weights.context === "document" || weights.context === "fixpoint") {
    let score = base + sum(top.map((value, i) => w[i] * value));
    if (weights.context === "fixpoint") score /= 1 - weights.alpha_context * sum(w);
    return { score, context: score, inside: weights.context === "fixpoint" ? score : 0 };
  }
  const context = columns[weights.context];
  const score = base + sum(top.map((value, i) => w[i] * (value + weights.alpha_context * context)));
  return { score, context, inside: context };
}

/** The places of the documents, best first; equal scores by the first column, then by the order of the input. */
export function rankOf(data, blended) {
  const column = (i) => Object.values(data.documents[i].scores)[0] ?? 0;
  return blended.map((_, i) => i)
    .sort((a, b) => blended[b].score - blended[a].score || column(b) - column(a) || a - b);
}
