// The page that explains a ranking. The first half is arithmetic, the same as in mpir/core/blend.py (a test compares
// them); the second half shows it. Texts are set as textContent only.

// --- arithmetic ---------------------------------------------------------------------------------------------------

// Not Math.min(...values): a call takes some 100,000 arguments, and long papers have more sentences.
const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const greatest = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

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

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The greatest factor with which a document's score returns to itself; the fixed point exists below 1. */
export function feedback(weights) {
  let total = 0, most = -Infinity;
  for (const w of weights.w) {
    total += w;
    most = Math.max(most, weights.alpha_context * weights.beta_sentences * total);
  }
  return most;
}

/**
 * S_SENT and S_DOC of every document and sentence, in the order of the data, with the shares they are made of.
 *
 *   S_SENT = Σ α_k·s_k + α_context·S_CONTEXT        S_DOC = Σ β_k·d_k + β_sentences·Σ w_i·S_SENT(i)
 *
 * Columns in `ordering` only order sentences: S_SENT has them, S_SENT(i) does not.
 */
export function blend(data, weights) {
  const first = data.documents[0];
  const documentNames = first ? Object.keys(first.scores) : [];
  const sentenceNames = Object.keys(weights.alpha);
  const ordering = new Set(data.ordering), signed = new Set(data.signed);
  const documentRows = scaled(data.documents.map((document) => document.scores), documentNames, DOCUMENT_SCALES[weights.normalise], signed);
  const all = data.documents.flatMap((document) => document.sentences.map((sentence) => sentence.scores));
  const sentenceRows = scaled(all, sentenceNames, SENTENCE_SCALES[weights.normalise], signed);
  let next = 0;
  return data.documents.map((document, i) => {
    const rows = sentenceRows.slice(next, next += document.sentences.length);
    return blendDocument(documentRows[i], documentNames, rows, sentenceNames, ordering, weights);
  });
}

function blendDocument(columns, documentNames, rows, sentenceNames, ordering, weights) {
  const parts = rows.map((row) => sentenceNames.map((name) => weights.alpha[name] * row[name]));
  const evidence = parts.map((part) => sum(part.filter((_, k) => !ordering.has(sentenceNames[k]))));
  const others = parts.map((part) => sum(part.filter((_, k) => ordering.has(sentenceNames[k]))));
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
    score: evidence[i] + others[i] + weights.alpha_context * context,
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

/** The numbers of the documents with a grade above 0, or of all where none is graded, in an order. */
function chosen(order, grades) {
  const good = order.filter((i) => grades[i] > 0);
  return Object.keys(grades).length ? good : order;
}

const line = (text) => String(text ?? "").replace(/\s+/g, " ").trim();

/** References as RIS, for reference managers: the documents with a grade above 0, or all where none is graded. */
export function ris(data, order, grades) {
  return chosen(order, grades).map((i) => {
    const { id, sections, record = {} } = data.documents[i];
    const fields = [["TY", "JOUR"], ["ID", id], ["TI", sections.title], ...(record.authors ?? []).map((name) => ["AU", name]),
      ["PY", record.year], ["JO", record.journal], ["DO", record.doi], ["AN", record.pmid], ["UR", record.url],
      ["AB", sections.abstract], ["N1", grades[i] === undefined ? "" : `Grade ${grades[i]}`]];
    const lines = fields.filter(([, value]) => line(value)).map(([tag, value]) => `${tag}  - ${line(value)}\r\n`);
    return `${lines.join("")}ER  - \r\n\r\n`;
  }).join("");
}

/** A cell of a CSV file; what a spreadsheet would compute has an apostrophe before it. */
function cell(value) {
  const text = typeof value === "number" ? String(value) : line(value).replace(/(^|;)(?=[\s"]*[=@+\-＝＠＋－])/g, "$1'");
  return /[",;\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** All documents in an order with their grades, as a CSV file that spreadsheets open. */
export function csv(data, order, blended, grades) {
  const rows = order.map((i, place) => {
    const { id, sections, record = {} } = data.documents[i];
    return [place + 1, id, grades[i] ?? "", Number(blended[i].score.toFixed(4)), sections.title, record.year, record.journal, record.doi, record.url];
  });
  const heads = ["rank", "document", "grade", "score", "title", "year", "journal", "doi", "url"];
  return `\ufeff${[heads, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("")}`;
}

/** A JSON line for each question with a grade: its words, documents and their grades, for `mpir score --graded`. */
export function gradedLines(sessions) {
  return sessions.filter(({ grades }) => Object.keys(grades).length).map(({ data, grades }) => {
    const documents = data.documents.map(({ id, sections, scores }, i) => ({
      id, ...sections, ...(scores.bm25 === undefined ? {} : { score: scores.bm25 }),
      ...(grades[i] === undefined ? {} : { grade: grades[i] }),
    }));
    return `${JSON.stringify({ query: data.query, documents })}\n`;
  }).join("");
}

/** The graded documents as TREC qrels. */
export function qrels(data, grades, query = "1") {
  return data.documents.filter((document, i) => grades[i] !== undefined && !/\s/.test(document.id))
    .map((document) => `${query} 0 ${document.id} ${grades[data.documents.indexOf(document)]}\n`).join("");
}

// --- what is shown ------------------------------------------------------------------------------------------------

const PAGE = 20;
const state = { data: null, tuned: null, weights: null, blended: [], order: [], shown: [], grades: {}, sessions: [],
  limit: PAGE, filter: "", open: new Set(), opener: null };
const byId = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const { attributes = {}, ...rest } = properties;
  const made = Object.assign(document.createElement(tag), rest);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const SCALES = {
  none: "",
  minmax: "Before they are weighed, values are brought to 0–1 among these documents.",
  zscore: "A document's values count by their distance from the mean of these documents, in standard deviations (of "
    + "BM25 in few documents, usual ones count as well): below the mean they count against it.",
};

const shown = (value) => value.toFixed(3);

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
  const order = sentences.map((_, i) => i).sort((a, b) => blended[b].score - blended[a].score || a - b);
  const body = order.find((i) => sentences[i].section !== "title"), title = order.find((i) => sentences[i].section === "title");
  if (body === undefined || title === undefined) return body ?? title ?? -1;
  const [low, high] = [sentences[body].probability, sentences[title].probability];
  return low !== null && high !== null && low < ANSWERS && high >= ANSWERS ? title : body;
}

const ANSWERS = 0.02;

/** Whether a document passes a filter: all of its words, years (2015-2020) and grades (grade:2, grade:none). */
export function passes({ sections, record = {} }, grade, filter) {
  const text = [...Object.values(sections), record.journal, ...[record.authors ?? []].flat(), record.year].join(" ").toLowerCase();
  const year = Number(/\d{4}/.exec(record.year ?? "")?.[0]);
  return filter.toLowerCase().split(/\s+/).filter(Boolean).every((term) => {
    const years = /^(\d{4})[-–](\d{4})$/.exec(term), grades = /^grade:([0-3]|none)$/.exec(term);
    if (grades) return String(grade ?? "none") === grades[1];
    return years ? year >= Number(years[1]) && year <= Number(years[2]) : text.includes(term);
  });
}

function show(data) {
  const weights = structuredClone(data.weights);
  byId("list").replaceChildren();
  Object.assign(state, { data, tuned: data.weights, weights, grades: {}, shown: [], limit: PAGE, filter: "", open: new Set() });
  byId("filter").value = "";
  state.sessions = [...state.sessions.filter((session) => session.data.query !== data.query), { data, grades: state.grades }];
  showSearches(data.searches ?? []);
  byId("question").textContent = asked(data);
  document.title = `${asked(data)} – mpir`;
  byId("about").textContent = [`${data.documents.length} documents`, data.bundle && `bundle ${data.bundle}`, data.date,
    "A rank does not show that a document is right."].filter(Boolean).join(" · ");
  byId("scale").textContent = SCALES[weights.normalise];
  byId("result").hidden = !data.documents.length;
  if (!data.documents.length) { byId("status").textContent = "No documents."; return; }
  buildSliders();
  refresh();
  state.shown = [state.order[0]];
  refresh();
}

/** The queries that services on the network received. */
function showSearches(searches) {
  const rows = searches.map(({ source, query, hits, new: added }) => [source, String(hits), String(added), query]);
  byId("searches").hidden = !searches.length;
  byId("searches").querySelector("div").replaceChildren(table(["service", "records", "new", "query"], rows));
}

function refresh() {
  state.blended = blend(state.data, state.weights);
  state.order = rankOf(state.data, state.blended);
  drawList();
  drawPanes();
  drawWeights();
}

function drawList() {
  const focused = document.activeElement?.dataset?.key;
  const names = Object.keys(state.blended[0].shares);
  state.blended.forEach((one) => Object.keys(one.shares).forEach((n) => { if (!names.includes(n)) names.push(n); }));
  byId("legend").replaceChildren(...names.map((name, k) => make("li", {}, make("span", { className: `c${k % 8}` }), name)));
  const widest = greatest(state.blended.map((one) => sum(Object.values(one.shares).map(Math.abs)))) || 1;
  const ranked = state.order.map((i, at) => [i, at + 1])
    .filter(([i]) => passes(state.data.documents[i], state.grades[i], state.filter));
  const cards = ranked.slice(0, state.limit);
  byId("list").replaceChildren(...cards.map(([i, rank]) => listItem(i, rank, names, widest)));
  byId("more").hidden = cards.length === ranked.length;
  const total = state.order.length;
  byId("count").textContent = `${cards.length} of ${ranked.length} shown${ranked.length < total ? `; the filter leaves ${ranked.length} of ${total}` : ""}`;
  if (focused !== undefined) byId("list").querySelector(`[data-key="${focused}"]`)?.focus();
}

function listItem(i, rank, names, widest) {
  const item = state.data.documents[i], blended = state.blended[i];
  const title = make("button", {
    type: "button", className: "title", textContent: nameOf(item),
    attributes: { "aria-pressed": String(state.shown.includes(i)), "data-index": i, "data-key": `title ${i}` },
    onclick: () => showOne(i),
  });
  const row = make("div", { className: "row" }, make("span", { textContent: `${rank}.` }), arrow(rank, item), title);
  const bar = make("div", { className: "bar", attributes: { "aria-hidden": "true" } });
  names.forEach((name, k) => {
    const share = blended.shares[name] ?? 0;
    const piece = make("span", { className: `c${k % 8}${share < 0 ? " negative" : ""}`, title: `${name} ${shown(share)}` });
    piece.style.width = `${(100 * Math.abs(share)) / widest}%`;
    bar.append(piece);
  });
  const open = state.open.has(i);
  const more = make("button", {
    type: "button", textContent: "Grade, shares", onclick: () => toggleMore(i),
    attributes: { "aria-expanded": String(open), "data-key": `more ${i}`, "aria-label": `Grade, shares of ${item.id}` },
  });
  const grade = state.grades[i] === undefined ? [] : [` · grade ${state.grades[i]}`];
  const line = make("div", { className: "tools" },
    make("p", { className: "place" }, `id ${item.id}`, ...recordOf(item), ...grade), make("span", { className: "more" }, more));
  return make("li", {}, row, quoteOf(i), line, bar, ...(open ? [tools(i), sharesOf(i)] : []));
}

/** Show 20 more cards, and go to the first of them. */
function showMore() {
  const before = byId("list").children.length;
  state.limit += PAGE;
  drawList();
  byId("list").children[before].querySelector(".title").focus();
}

function toggleMore(i) {
  if (!state.open.delete(i)) state.open.add(i);
  drawList();
}

/** A document's best sentence, with its probability or, under changed weights, which have none, its blended score. */
function quoteOf(i) {
  const { sections, sentences } = state.data.documents[i], { sentences: blended } = state.blended[i];
  const number = bestSentence(sentences, blended);
  if (number < 0) return make("p", { className: "quote", textContent: "No sentence." });
  const { section, begin, end, probability } = sentences[number];
  const text = Array.from(sections[section]).slice(begin, end).join("");
  const value = isChanged() || probability === null ? `score ${shown(blended[number].score)}` : `${percent(probability)} probable`;
  return make("p", { className: "quote" }, make("strong", { textContent: value }), ` ${text}`);
}

const percent = (value) => (value < 0.01 ? "under 1 %" : value > 0.99 ? "over 99 %" : `${Math.round(100 * value)} %`);
const isChanged = () => knobs().some((knob) => knob.get(state.weights) !== knob.get(state.tuned));

/** A link to a document's record, and its journal and year, where they are known. */
function recordOf({ id, record = {} }) {
  const journal = [record.journal, record.year].filter(Boolean).join(", ");
  if (!record.url) return journal ? [` · ${journal}`] : [];
  const name = record.url.includes("//pubmed.") ? "PubMed" : record.url.includes("//doi.org/") ? "DOI" : "Record";
  const link = make("a", {
    href: record.url, target: "_blank", rel: "noopener noreferrer", textContent: name,
    attributes: { "aria-label": `${name} of ${id}` },
  });
  return [" · ", link, ...(journal ? [` · ${journal}`] : [])];
}

const NARROW = "(max-width: 60rem)";

/** Show one document; on a narrow screen, as a sheet over the list. */
function showOne(i) {
  state.shown = [i];
  refresh();
  if (matchMedia(NARROW).matches) openSheet(i);
}

function openSheet(i) {
  state.opener = i;
  document.body.classList.add("sheet");
  for (const id of ["ranking", "drawer"]) byId(id).inert = true;
  byId("back").focus();
}

function closeSheet() {
  if (!document.body.classList.contains("sheet")) return;
  document.body.classList.remove("sheet");
  for (const id of ["ranking", "drawer"]) byId(id).inert = false;
  byId("list").querySelector(`[data-key="title ${state.opener}"]`)?.focus();
}

function setDrawer(open) {
  byId("drawer").hidden = !open;
  byId("result").classList.toggle("tuning", open);
  byId("tuning").setAttribute("aria-expanded", String(open));
  (open ? byId("close") : byId("tuning")).focus();
}

/** How far a document moved, from which rank of the first stage; its ranks by every search are in the tooltip. */
function arrow(rank, { before, ranks = {} }) {
  const moved = before - rank, columns = Object.entries(ranks).map(([name, value]) => `${name} ${value}`).join(", ");
  const origin = `rank ${before} in the first stage${columns ? ` (ranks: ${columns})` : ""}`;
  const [sign, name, words] = moved > 0 ? [`▲ from ${before}`, "up", `up ${moved}`]
    : moved < 0 ? [`▼ from ${before}`, "down", `down ${-moved}`] : ["=", "level", "same rank"];
  return make("span", { className: name, title: origin },
    make("span", { textContent: sign, attributes: { "aria-hidden": "true" } }),
    make("span", { className: "hidden", textContent: `${words}, ${origin}` }));
}

function tools(i) {
  const id = state.data.documents[i].id;
  const grade = make("select", { attributes: { "data-key": `grade ${i}` }, onchange: (event) => setGrade(i, event.target.value) },
    ...["", "0", "1", "2", "3"].map((value) => make("option", { value, textContent: value || "–" })));
  grade.value = state.grades[i] ?? "";
  const beside = make("input", {
    type: "checkbox", checked: state.shown.includes(i), onchange: () => toggle(i), attributes: { "data-key": `show ${i}` },
  });
  return make("div", { className: "tools" },
    make("label", {}, "Grade", make("span", { className: "hidden", textContent: `of ${id}` }), grade),
    make("label", {}, beside, "Show", make("span", { className: "hidden", textContent: id })));
}

function setGrade(i, value) {
  if (value === "") delete state.grades[i];
  else state.grades[i] = Number(value);
  drawList();
}

/** Show a document beside the one that is shown, two at most; or let go of it. */
function toggle(i) {
  state.shown = state.shown.includes(i) ? state.shown.filter((other) => other !== i) : [...state.shown.slice(-1), i];
  refresh();
}

function sharesOf(i) {
  const blended = state.blended[i], found = state.data.documents[i];
  const columns = Object.keys(found.scores).map((name) => [name, shown(found.scores[name]), shown(blended.shares[name])]);
  const lines = blended.best.map((number, rank) => [`sentence ${rank + 1}`, shown(blended.sentences[number].score),
    shown(blended.shares[`sentence ${rank + 1}`])]);
  return make("div", { className: "shares" },
    table(["document", "value", "share"], [...columns, ...lines]), sentenceTable(i));
}

/** What every column adds to each of the best sentences, with the column's own value. */
function sentenceTable(i) {
  const { best, sentences } = state.blended[i], { sentences: given } = state.data.documents[i];
  const names = best.length ? Object.keys(sentences[best[0]].shares) : [];
  const cell = (name, number) => {
    const value = given[number].scores[name];
    return value === undefined ? shown(sentences[number].shares[name]) : `${shown(sentences[number].shares[name])} (${shown(value)})`;
  };
  return table(["share (value) of sentence", ...best.map((_, rank) => String(rank + 1))],
    names.map((name) => [name, ...best.map((number) => cell(name, number))]));
}

function table(heads, rows) {
  const cells = (values, tag) => values.map((text) => make(tag, { textContent: text }));
  return make("div", { className: "wide" }, make("table", {},
    make("thead", {}, make("tr", {}, ...cells(heads, "th"))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells(row, "td"))))));
}

function drawPanes() {
  const every = state.blended.flatMap((one) => one.sentences.map((sentence) => sentence.score));
  const low = least(every), width = greatest(every) - low || 1;
  byId("panes").replaceChildren(...state.shown.map((i) => pane(i, (score) => (0.6 * (score - low)) / width)));
}

function pane(i, shade) {
  const found = state.data.documents[i], { sentences, best } = state.blended[i];
  const parts = Object.entries(found.sections).filter(([, text]) => text).map(([section, text]) => {
    const line = make("p", { className: "text" });
    for (const [piece, number] of pieces(text, section, found.sentences)) {
      if (number < 0) { line.append(piece); continue; }
      const rank = best.indexOf(number), score = sentences[number].score;
      const span = make("span", { className: rank < 0 ? "sentence" : "sentence best", title: shown(score) }, piece);
      if (rank >= 0) span.append(make("sup", {}, make("span", { className: "hidden", textContent: " best sentence " }), String(rank + 1)));
      if (rank >= 0) span.style.setProperty("--shade", String(shade(score)));
      line.append(span);
    }
    return line;
  });
  const heading = make("h3", { textContent: `${state.order.indexOf(i) + 1}. id ${found.id}` });
  const place = make("p", { className: "place" }, `id ${found.id}`, ...recordOf(found));
  return make("article", { attributes: { "aria-label": `Document ${found.id}` } }, heading, place, ...parts);
}

/** Every weight: its name, how to read it and how to set it. */
function knobs() {
  const { weights } = state, one = (label, holder, key) => ({ label, get: (w) => holder(w)[key], set: (v) => { holder(weights)[key] = v; } });
  return [
    ...Object.keys(weights.alpha).map((name) => one(`α ${name}`, (w) => w.alpha, name)),
    one("α context", (w) => w, "alpha_context"),
    ...Object.keys(weights.beta).map((name) => one(`β ${name}`, (w) => w.beta, name)),
    one("β sentences", (w) => w, "beta_sentences"),
    ...weights.w.map((_, rank) => one(`w sentence ${rank + 1}`, (w) => w.w, rank)),
  ];
}

const PLAIN = {
  "β bm25": ["Same words", "How much it counts that a document has the question's words."],
  "β dense": ["Same meaning", "How much it counts that a document is about the question's subject, in whatever words."],
  "β sentences": ["Answering sentence", "How much it counts that single sentences of a document answer."],
};

function explanationOf(label) {
  const [letter, ...name] = label.split(" "), column = name.join(" ");
  if (label === "α context") return "What a sentence gains from the document that it stands in.";
  if (letter === "w") return `What the document's best sentence number ${name[1]} counts.`;
  return letter === "α" ? `What ${column} counts in a sentence's score.` : `What ${column} counts in a document's score.`;
}

function buildSliders() {
  const rows = knobs().map((knob, k) => slider(knob, k));
  byId("plain").replaceChildren(...rows.filter((_, k) => knobs()[k].label in PLAIN));
  byId("sliders").replaceChildren(...rows.filter((_, k) => !(knobs()[k].label in PLAIN)));
}

function slider(knob, k) {
  const value = knob.get(state.tuned), most = Math.max(1, 2 * Math.abs(value));
  const [label, explanation] = PLAIN[knob.label] ?? [knob.label, explanationOf(knob.label)];
  const input = make("input", {
    type: "range", id: `knob${k}`, min: String(Math.min(0, -most * (value < 0))), max: String(most), step: "any",
    oninput: (event) => move(knob, Number(event.target.value)), attributes: { "aria-describedby": `about${k}` },
  });
  input.value = String(value);
  return make("div", { className: "slider" },
    make("label", { htmlFor: `knob${k}`, textContent: label }), make("output", { htmlFor: `knob${k}` }),
    make("p", { className: "hint", id: `about${k}`, textContent: explanation }), input);
}

function move(knob, value) {
  const before = knob.get(state.weights);
  knob.set(value);
  const limit = state.weights.context === "fixpoint" && feedback(state.weights) >= 1;
  byId("status").textContent = limit ? "There is no ranking beyond this weight: a document's score would feed itself." : "";
  if (limit) { knob.set(before); drawWeights(); } else refresh();
}

function drawWeights() {
  const all = knobs();
  let count = 0;
  all.forEach((knob, k) => {
    const value = knob.get(state.weights), moved = value !== knob.get(state.tuned);
    count += moved;
    const input = byId(`knob${k}`), row = input.parentElement;
    row.classList.toggle("moved", moved);
    row.querySelector("output").textContent = value.toFixed(4);
    if (Number(input.value) !== value) input.value = String(value);
  });
  byId("changed").textContent = count ? `${count} of ${all.length} weights changed from tuned.` : "The weights are as tuned.";
  byId("json").textContent = weightsJson();
}

/** What `--weights FILE` takes. Changed weights no longer have the record of how they were tuned. */
function weightsJson() {
  const madeBy = isChanged() ? { source: "set by hand on the explain page" } : state.tuned.made_by;
  return `${JSON.stringify({ ...state.weights, made_by: madeBy }, null, 2)}\n`;
}

function reset() {
  state.weights = structuredClone(state.tuned);
  byId("status").textContent = "";
  refresh();
}

async function copy() {
  try {
    await navigator.clipboard.writeText(weightsJson());
    byId("status").textContent = "Copied.";
  } catch {
    byId("json").parentElement.open = true;
    byId("status").textContent = "The browser does not let the page copy; the text is below.";
  }
}

const graded = () => state.sessions.filter(({ grades }) => Object.keys(grades).length);

const EXPORTS = {
  qrels: ["grades.qrels", () => graded().map(({ data, grades }, i) => qrels(data, grades, String(i + 1))).join("")],
  ris: ["documents.ris", () => ris(state.data, state.order, state.grades)],
  csv: ["documents.csv", () => csv(state.data, state.order, state.blended, state.grades)],
  lines: ["graded.jsonl", () => gradedLines(state.sessions)],
};

/** Save one of the exports as a file. */
function save(name) {
  const [download, textOf] = EXPORTS[name], text = textOf();
  if (!text) { byId("status").textContent = "No document is graded yet."; return; }
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** What a key does on the title of a document: a document that is not shown was not read, so a digit shows it first. */
export function actionOf(key, isShown) {
  if (/^[0-3]$/.test(key)) return isShown ? "grade" : "show";
  return { ArrowDown: "next", ArrowUp: "previous", c: "compare", C: "compare" }[key];
}

function onKey(event) {
  const index = event.target?.dataset?.index;
  if (index === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const titles = [...byId("list").querySelectorAll(".title")], at = titles.indexOf(event.target), i = Number(index);
  const actions = {
    next: () => titles[Math.min(at + 1, titles.length - 1)].focus(),
    previous: () => titles[Math.max(at - 1, 0)].focus(),
    compare: () => toggle(i),
    grade: () => setGrade(i, event.key),
    show: () => { showOne(i); byId("status").textContent = "Not graded: this text was not shown. Press the digit again."; },
  };
  const action = actions[actionOf(event.key, state.shown.includes(i))];
  if (!action) return;
  event.preventDefault();
  action();
}

function onAnyKey(event) {
  if (event.key === "Escape") closeSheet();
  if (event.key !== "?" || event.target?.matches?.("input, textarea, select")) return;
  event.preventDefault();
  byId("keys").showModal();
}

const EXAMPLE = {
  query: "Which gene is mutated in cystic fibrosis?",
  documents: "Many a gene is mutated in pancreatic cancer. KRAS is the most frequent.\n\nCystic fibrosis is caused by "
    + "mutations of CFTR, a chloride channel of epithelial cells. Carriers are healthy.\n\nPatients with cystic "
    + "fibrosis need physiotherapy of the chest. Exercise helps.",
};

function fillExample() {
  forgetFiles();
  for (const [id, text] of Object.entries(EXAMPLE)) byId(id).value = text;
  byId("query").focus();
}

const dropped = [];
let reading = Promise.resolve();

function forgetFiles() {
  dropped.length = 0;
  byId("files").value = "";
  byId("dropped").textContent = "";
  byId("forget").hidden = true;
}

/** A file's content in base64, which JSON can hold. */
function content(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** Have the server read files, and keep their documents for the next ranking in place of those of earlier files. */
async function readFiles(files) {
  const notes = [];
  dropped.length = 0;
  for (const file of files) {
    byId("dropped").textContent = `Reading ${file.name} …`;
    try {
      const { documents } = await post("explain/documents", { name: file.name, data: await content(file) });
      const ids = new Set(dropped.map(({ id }) => id));
      dropped.push(...documents.map((item) => (ids.has(item.id) ? { ...item, id: `${file.name}: ${item.id}` } : item)));
      notes.push(`${file.name}: ${documents.length} documents.`);
    } catch (error) {
      notes.push(error.message);
    }
  }
  byId("dropped").textContent = notes.join(" ");
  byId("forget").hidden = !dropped.length;
}

function onDrop(event) {
  event.preventDefault();
  if (event.dataTransfer.files.length) reading = readFiles(event.dataTransfer.files);
}

/** The answer to a request that has a JSON body. Throws the server's message where it refuses. */
async function post(path, body) {
  const key = byId("key").value ? { Authorization: `Bearer ${byId("key").value}` } : {};
  const headers = { "Content-Type": "application/json", ...key };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

async function ask(event) {
  event.preventDefault();
  await reading;
  const form = new FormData(byId("ask")), text = form.get("documents").trim();
  const pasted = text ? text.split(/\n\s*\n/).map((part) => part.trim()) : [];
  const documents = [...dropped, ...pasted];
  const given = documents.length ? { documents } : { mode: form.get("mode") ?? undefined };
  byId("status").textContent = given.mode === "pubmed" ? "Searching PubMed and Europe PMC, then ranking …" : "Ranking …";
  try {
    const found = await post("explain/ranking", { query: form.get("query"), ...given });
    byId("status").textContent = [`${found.documents.length} documents ranked.`, ...(found.warnings ?? [])].join(" ");
    show(found);
    byId("status").scrollIntoView();  // past the form: the first answers are in view at once
  } catch (error) {
    byId("status").textContent = `No ranking: ${error.message}`;
  }
}

function begin() {
  byId("ask").addEventListener("submit", ask);
  byId("ask").addEventListener("dragover", (event) => event.preventDefault());
  byId("ask").addEventListener("drop", onDrop);
  byId("files").addEventListener("change", (event) => { reading = readFiles(event.target.files); });
  byId("forget").addEventListener("click", forgetFiles);
  byId("list").addEventListener("keydown", onKey);
  document.addEventListener("keydown", onAnyKey);
  byId("filter").addEventListener("input", (event) => { Object.assign(state, { filter: event.target.value, limit: PAGE }); drawList(); });
  byId("more").addEventListener("click", showMore);
  byId("tuning").addEventListener("click", () => setDrawer(byId("drawer").hidden));
  byId("close").addEventListener("click", () => setDrawer(false));
  byId("back").addEventListener("click", closeSheet);
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("keys-close").addEventListener("click", () => byId("keys").close());
  byId("example").addEventListener("click", fillExample);
  byId("reset").addEventListener("click", reset);
  byId("copy").addEventListener("click", copy);
  for (const name of Object.keys(EXPORTS)) byId(name).addEventListener("click", () => save(name));
  const inside = byId("data");
  byId("ask").hidden = inside !== null;
  if (inside) show(JSON.parse(inside.textContent));
}

if (typeof document !== "undefined" && byId("ask")) begin();
