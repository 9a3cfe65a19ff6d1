// The page that explains a ranking and on which a reader decides: it joins the list, the text, the weights and the form.

import { blend, rankOf } from "./blend.mjs";
import { drawChart, drawList, drawTally, showMore, visible } from "./cards.mjs";
import { Decisions, EXCLUDE } from "./decisions.mjs";
import { byId, make, say, table } from "./elements.mjs";
import { csv, gradedLines, qrels, ris } from "./exports.mjs";
import { beginForm } from "./form.mjs";
import { orderLearned, vectorsOf } from "./learning.mjs";
import { actions, documentOf, gradeOf, isNarrow, isRead, isSheetOpen, PAGE, state } from "./state.mjs";
import { post } from "./stream.mjs";
import { drawPanes } from "./text_pane.mjs";
import { asked, nameOf } from "./texts.mjs";
import { buildSliders, copyWeights, drawWeights, resetWeights } from "./weights.mjs";

const SCALES = {
  none: "",
  minmax: "Before they are weighed, values are brought to 0–1 among these documents.",
  zscore: "A document's values count by their distance from the mean of these documents, in standard deviations (of "
    + "BM25 in few documents, usual ones count as well): below the mean they count against it.",
};

/** Take up a ranking, or as much of one as there is, and keep what the reader has open. */
function show(data, stage = "ranking") {
  const isNew = stage === "first" || state.data?.key !== data.key, before = isNew ? null : idsOf(state);
  const waiting = data.pending ?? (isNew || stage === "ranking" ? [] : state.data.documents);
  const scored = data.documents ?? [], ids = new Set(scored.map(({ id }) => id));
  const pending = waiting.filter(({ id }) => !ids.has(id)).map((item) => ({ ...item, pending: true, scores: {}, ranks: {}, sentences: [] }));
  const facts = isNew ? {} : { warnings: state.data.warnings, searches: state.data.searches };
  state.data = { ...facts, ...data, documents: [...scored, ...pending] };
  if (isNew) startList(data);
  if (data.weights) takeWeights(data.weights);
  state.sessions.get(data.query).data = state.data;
  showHead();
  byId("result").hidden = !state.data.documents.length;
  if (!state.data.documents.length) { say("No documents."); return; }
  order();
  restoreOpen(before);
  redraw();
}

/** The ids of what is shown, current and open, which outlive the documents' numbers. */
const idsOf = ({ shown, current, open }) => ({
  shown: shown.map((i) => documentOf(i).id), current: documentOf(current)?.id, open: [...open].map((i) => documentOf(i).id),
});

function restoreOpen(before) {
  const numbers = new Map(state.data.documents.map(({ id }, i) => [id, i]));
  const known = (ids) => ids.map((id) => numbers.get(id)).filter((i) => i !== undefined);
  state.open = new Set(known(before?.open ?? []));
  state.shown = known(before?.shown ?? []);
  state.current = known([before?.current])[0] ?? -1;
  follow();
}

const firstUndecided = () => state.order.find((i) => gradeOf(i) === null) ?? state.order[0];

/** Until the reader has chosen a text, show the first one that is undecided, whatever the order becomes. */
function follow() {
  if (!state.hasChosen || state.current < 0) state.current = firstUndecided();
  if (!state.hasChosen || !state.shown.length) state.shown = [state.current];
}

function startList(data) {
  Object.assign(state, { limit: PAGE, filter: "", view: "all", tuned: null, weights: null, shown: [], current: -1, open: new Set(), hasChosen: false });
  byId("filter").value = "";
  byId("view").value = "all";
  document.body.classList.add("ranked");
  takeDecisions(data);
}

function takeWeights(weights) {
  if (state.tuned && JSON.stringify(state.tuned) === JSON.stringify(weights)) return;
  Object.assign(state, { tuned: weights, weights: structuredClone(weights) });
  buildSliders();
}

function showHead() {
  const { data } = state, stillPending = data.documents.filter(({ pending }) => pending).length;
  const unread = data.documents.filter(({ reading }) => reading === "unread").length;
  byId("question").textContent = asked(data);
  document.title = `${asked(data)} – mpir`;
  byId("about").textContent = [`${data.documents.length} documents`, stillPending && `${stillPending} not read yet`, unread && `${unread} not read, low by words`, data.bundle && `bundle ${data.bundle}`, data.date,
    "A rank does not show that a document is right."].filter(Boolean).join(" · ");
  byId("scale").textContent = SCALES[state.weights?.normalise] ?? "";
  byId("tuning").disabled = !state.weights;
  const rows = (data.searches ?? []).map(({ source, query, hits, new: added }) => [source, String(hits), String(added), query]);
  byId("searches").hidden = !rows.length;
  byId("searches").querySelector("div").replaceChildren(table(["service", "records", "new", "query"], rows));
}

/** Blend what has been scored; what has not follows in the first stage's order. */
function order() {
  const { data } = state, scored = data.documents.filter(({ pending }) => !pending);
  state.blended = scored.length ? blend({ ...data, documents: scored }, state.weights) : [];
  const ranked = rankOf({ documents: scored }, state.blended);
  state.order = [...(state.learns ? byDecisions(ranked, scored) : ranked), ...[...data.documents.keys()].filter((i) => i >= scored.length)];
}

/** The order of the scored documents after every ten decisions on them. */
function byDecisions(ranked, scored) {
  if (state.vectors?.documents.length !== scored.length || state.vectors.documents.some((item, i) => item !== scored[i])) {
    state.vectors = { documents: scored, ...vectorsOf(scored) };
  }
  const places = new Map(scored.map(({ id }, i) => [String(id), i]));
  const decisions = state.decisions.decided().map(({ id, grade }) => [places.get(id), grade > EXCLUDE]).filter(([i]) => i !== undefined);
  return orderLearned(ranked, state.vectors, state.blended.map(({ score }) => score), decisions);
}

function refresh() {
  order();
  follow();
  redraw();
}

/** Draw everything, and leave the focus where it was. */
function redraw() {
  const key = document.activeElement?.dataset?.key;
  drawList();
  drawPanes();
  if (state.weights) drawWeights();
  if (key && document.activeElement?.dataset?.key !== key) document.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

// --- decisions ----------------------------------------------------------------------------------------------------

/** The browser's store, or null where it is forbidden. */
function storage() {
  try { return window.localStorage; } catch { return null; }
}

/** Take up the decisions that the browser or the server's file has on this list. */
function takeDecisions({ query, key, grades, documents = [], pending = [] }) {
  const every = [...documents, ...pending], fingerprints = new Map(every.map(({ id, fingerprint }) => [String(id), fingerprint]));
  state.file = grades?.file ?? "";
  state.decisions = new Decisions({ query, key, ids: every.map(({ id }) => id), storage: storage(), fingerprints, hasFile: Boolean(state.file) });
  const kept = state.decisions.restore(), inFile = new Map((grades?.decisions ?? []).map((entry) => [entry.id, entry]));
  state.decisions.merge(inFile.values());
  if (state.file) {
    for (const entry of state.decisions.list()) if (!inFile.has(entry.id) || inFile.get(entry.id).time < entry.time) state.decisions.unsent.set(entry.id, entry);
    send();
  }
  const gone = [...inFile.keys()].filter((id) => !state.decisions.ids.has(id)).length, { decided } = state.decisions.counts();
  const offered = decided ? `Restored from ${inFile.size ? state.file : "this browser"}: ${decided} decided.` : "";
  byId("offer").hidden = !offered && !gone;
  byId("offered").textContent = [offered, gone ? `${state.file} has ${gone} more, of documents that are not here; they stay in the file.` : ""].filter(Boolean).join(" ");
  byId("aside").hidden = !(decided || kept);
  state.sessions.set(query, { data: state.data, decisions: state.decisions });
}

/** After each change: keep it, send it to the file, and say where that fails. */
function changed() {
  byId("kept").textContent = state.decisions.problem;
  send();
  if (state.learns) refresh(); else redraw();
}

let sending = false;

/** Send decisions to the server's file, and take up those of another page. */
async function send() {
  const { decisions, file } = state;
  if (!file || sending || !decisions.unsent.size) return;
  sending = true;
  const sent = [...decisions.unsent.values()];
  try {
    const { grades } = await post("explain/grades", { query: decisions.query, decisions: sent });
    decisions.noteSent(sent);
    takeOthers(decisions, grades.decisions);
    byId("kept").textContent = decisions.problem;
  } catch (error) {
    const reason = error instanceof TypeError ? "the server does not answer" : error.message.replace(/\.$/, "");
    byId("kept").textContent = `Not yet in ${file}: ${decisions.unsent.size} (${reason}); ${decisions.problem ? "export your grades before you leave." : "this browser keeps them and sends them with the next decision."}`;
    sending = false;
    return;
  }
  sending = false;
  if (decisions.unsent.size) send();
}

/** Merge the decisions of another page on the same list. */
function takeOthers(decisions, entries) {
  const count = decisions.merge(entries);
  if (!count) return;
  decisions.keep();
  say(`Another page decided on ${count} document${count > 1 ? "s" : ""}; it is shown here, too.`);
  if (decisions === state.decisions) redraw();
}

function onStorage({ key, newValue }) {
  if (state.decisions && key === state.decisions.key && newValue) takeOthers(state.decisions, JSON.parse(newValue));
}

/** Decide on a document; on a narrow screen, go on to the next one that is undecided. */
function decide(i, grade, goesOn = false) {
  const at = visible().indexOf(i), before = state.order;
  state.hasChosen = true;
  if (!state.decisions.set(documentOf(i).id, { grade })) { if (goesOn) nextUndecided(); return; }
  changed();
  if (goesOn || before.some((number, rank) => number !== state.order[rank])) nextUndecided();
  else if (at >= 0 && !visible().includes(i) && visible().length) focusOn(visible()[Math.min(at, visible().length - 1)]);
}

function note(i, text) {
  state.hasChosen = true;
  if (state.decisions.set(documentOf(i).id, { note: text })) changed();
}

function undo() {
  const id = state.decisions.undo();
  if (id === null) { say("There is nothing to undo."); return; }
  changed();
  const i = state.data.documents.findIndex((item) => String(item.id) === id);
  if (i >= 0) select(i, isSheetOpen());
  say("Undone.");
}

/** Set all decisions aside; undo brings them back one by one. */
function setAside() {
  for (const { id, grade } of state.decisions.list()) if (grade !== null) state.decisions.set(id, { grade: null });
  byId("offer").hidden = true;
  changed();
}

async function importGrades(event) {
  const [file] = event.target.files;
  event.target.value = "";
  if (!file || !state.decisions) return;
  const { error, changed: count, gone, others } = state.decisions.read(await file.text(), file.name);
  if (error) { say(error); return; }
  const lost = gone.length ? ` Left out, because their documents are not here: ${gone.length} (first: ${gone[0]}).` : "";
  const strange = others ? ` Lines of other questions: ${others}.` : "";
  changed();
  say(`${file.name}: imported ${count}.${lost}${strange}`);
}

// --- what is in view ----------------------------------------------------------------------------------------------

/** Show one document; on a narrow screen, as a sheet over the list. */
function select(i, opens = false) {
  Object.assign(state, { shown: [i], current: i, hasChosen: true });
  for (const title of byId("list").querySelectorAll(".title")) {
    const isShown = Number(title.dataset.index) === i;
    title.setAttribute("aria-pressed", String(isShown));
    title.closest("li").classList.toggle("shown", isShown);
  }
  drawPanes();
  drawChart();
  byId("sheet").scrollTop = 0;
  if (opens && isNarrow()) openSheet(i);
  if (opens && !isNarrow()) byId("list").querySelector(`[data-index="${i}"]`)?.closest("li").scrollIntoView({ block: "nearest" });
}

/** Show a document beside the current one, two at most; or let go of it. */
function compare(i) {
  state.shown = state.shown.includes(i) ? state.shown.filter((other) => other !== i) : [...state.shown.slice(-1), i];
  if (!state.shown.length) state.shown = [i];
  Object.assign(state, { current: state.shown.at(-1), hasChosen: true });
  redraw();
}

/** Go to a document of the list: its card, and its text beside. */
function focusOn(i) {
  const at = visible().indexOf(i);
  if (at >= state.limit) { state.limit = PAGE * Math.ceil((at + 1) / PAGE); drawList(); }
  select(i);
  const title = byId("list").querySelector(`[data-index="${i}"]`);
  if (!isSheetOpen()) title?.focus({ preventScroll: true });
  title?.closest("li").scrollIntoView({ block: "nearest" });
}

function step(i, by) {
  const list = visible(), at = list.indexOf(i);
  if (list.length) focusOn(list[Math.max(0, Math.min(at + by, list.length - 1))]);
}

function nextUndecided() {
  const list = visible(), at = state.order.indexOf(state.current);
  const open = [...state.order.slice(at + 1), ...state.order.slice(0, at + 1)].filter((i) => list.includes(i) && gradeOf(i) === null);
  if (open.length) { focusOn(open[0]); return; }
  closeSheet();
  say(list.length === state.order.length ? "All documents are decided." : "All documents that the filter leaves are decided.");
}

function openSheet(i) {
  state.opener = i;
  document.body.classList.add("sheet");
  for (const id of ["ranking", "drawer"]) byId(id).inert = true;
  byId("back").focus();
}

function closeSheet() {
  if (!isSheetOpen()) return;
  document.body.classList.remove("sheet");
  for (const id of ["ranking", "drawer"]) byId(id).inert = false;
  const title = byId("list").querySelector(`[data-key="title ${state.current}"]`);
  title?.focus();
  title?.closest("li").scrollIntoView({ block: "center" });
}

function setDrawer(opens) {
  byId("drawer").hidden = !opens;
  byId("result").classList.toggle("tuning", opens);
  byId("tuning").setAttribute("aria-expanded", String(opens));
  (opens ? byId("close") : byId("tuning")).focus();
}

// --- keys ---------------------------------------------------------------------------------------------------------

const GRADES = { 0: 0, 1: 1, 2: 2, 3: 3, e: 0, m: 1, i: 2 };

/** What a key does to a document: one whose text is not in view was not read, so a grade shows it first. */
export function actionOf(key, isShown) {
  if (key.toLowerCase() in GRADES) return isShown ? "grade" : "show";
  return { ArrowDown: "next", j: "next", ArrowUp: "previous", k: "previous", c: "compare", C: "compare" }[key];
}

const ANYWHERE = { "?": () => byId("keys").showModal(), "/": () => byId("filter").focus(), u: undo, n: nextUndecided };

function onKey(event) {
  const { key, target } = event, isTyping = target.matches?.("textarea, select, input:not([type=checkbox], [type=range], [type=file])");
  if (key === "Escape") { if (isTyping) target.blur(); closeSheet(); return; }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const name = key.length === 1 ? key.toLowerCase() : key;
  if (ANYWHERE[name]) { if (name === "?" || state.data) { event.preventDefault(); ANYWHERE[name](); } return; }
  if (state.data && state.current >= 0) onDocumentKey(event);
}

/** Whether another text may come into view by itself. */
const isMoving = () => !state.hasChosen && state.data.documents.some(({ pending }) => pending);

function onDocumentKey(event) {
  const { key, target } = event, i = Number(target.dataset?.index ?? state.current);
  if (key.startsWith("Arrow") && (target.type === "range" || (target.closest?.("#sheet, #drawer, details") && !isSheetOpen()))) return;
  const does = {
    next: () => step(i, 1),
    previous: () => step(i, -1),
    compare: () => compare(i),
    grade: () => decide(i, GRADES[key.toLowerCase()], isSheetOpen()),
    show: () => { select(i, true); say("Not graded: this text was not shown, or the order was still changing. Press the key again."); },
  }[actionOf(key, isRead(i) && !isMoving())];
  if (!does) return;
  event.preventDefault();
  does();
}

// --- files --------------------------------------------------------------------------------------------------------

/** The questions of this visit with a decision, the current one with its present ranking. */
function graded() {
  return [...(state.file ? [state.sessions.get(state.data.query)] : state.sessions.values())].filter(({ decisions }) => decisions.counts().decided)
    .map(({ data, decisions }) => ({ data, grades: decisions.entries, decisions }));
}

const EXPORTS = {
  grades: [() => "grades.jsonl", () => graded().map(({ decisions }) => decisions.lines()).join("")],
  ris: [() => "documents.ris", () => ris(unlessChanged(), state.order, state.blended, state.decisions.entries)],
  csv: [() => "documents.csv", () => csv(unlessChanged(), state.order, state.blended, state.decisions.entries)],
  qrels: [() => "grades.qrels", () => graded().map(({ data, grades }, i) => qrels(data, grades, String(i + 1))).join("")],
  lines: [() => "graded.jsonl", () => gradedLines(graded())],
};

/** The data; without probabilities under changed weights, for which they were not calibrated. */
function unlessChanged() {
  if (JSON.stringify(state.weights) === JSON.stringify(state.tuned)) return state.data;
  return { ...state.data, calibrated: false, documents: state.data.documents.map((item) => ({ ...item, probability: null })) };
}

/** Save one of the exports as a file. */
function save(name) {
  const [fileName, content] = EXPORTS[name], text = content();
  if (!text) { say("No document is graded yet."); return; }
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: fileName() });
  link.click();
  URL.revokeObjectURL(link.href);
}

function begin() {
  Object.assign(actions, { show, refresh, select, compare, decide, note, nextUndecided });
  beginForm();
  document.addEventListener("keydown", onKey);
  window.addEventListener("storage", onStorage);
  window.addEventListener("beforeunload", (event) => { if (state.decisions?.problem && state.decisions.past.length) event.preventDefault(); });
  byId("filter").addEventListener("input", (event) => { Object.assign(state, { filter: event.target.value, limit: PAGE }); drawList(); });
  byId("view").addEventListener("change", (event) => { Object.assign(state, { view: event.target.value, limit: PAGE }); drawList(); });
  const clicks = {
    more: showMore, tuning: () => setDrawer(byId("drawer").hidden), close: () => setDrawer(false), back: closeSheet, undo, aside: setAside,
    help: () => byId("keys").showModal(), "keys-close": () => byId("keys").close(), reset: resetWeights, copy: copyWeights,
    earlier: () => step(state.current, -1), later: () => step(state.current, 1),
  };
  for (const [id, does] of Object.entries(clicks)) byId(id).addEventListener("click", () => does());
  for (const name of Object.keys(EXPORTS)) byId(name).addEventListener("click", () => save(name));
  byId("learn").addEventListener("change", (event) => { state.learns = event.target.checked; refresh(); if (gradeOf(state.current) !== null) nextUndecided(); });
  byId("sheet").addEventListener("wheel", () => { state.hasChosen = true; }, { passive: true });
  byId("import").addEventListener("change", importGrades);
  matchMedia("(max-width: 60rem)").addEventListener("change", () => { closeSheet(); if (state.data) drawPanes(); });
  const inside = byId("data");
  byId("asking").hidden = inside !== null;
  if (inside) show(JSON.parse(inside.textContent));
}

if (typeof document !== "undefined" && byId("ask")) begin();
