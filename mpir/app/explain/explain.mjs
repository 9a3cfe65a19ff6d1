// The page that explains a ranking and on which a reader decides: it joins the list, the text, the weights and the form.

import { blend, rankOf } from "./blend.mjs";
import { drawList, showMore, visible } from "./cards.mjs";
import { Decisions, EXCLUDE } from "./decisions.mjs";
import { byId, make, say, table } from "./elements.mjs";
import { csv, gradedLines, qrels, ris } from "./exports.mjs";
import { beginForm } from "./form.mjs";
import { orderLearned, vectorsOf } from "./learning.mjs";
import { actions, documentOf, gradeOf, isChanged, isNarrow, isRead, isSheetOpen, NARROW, PAGE, state } from "./state.mjs";
import { post } from "./stream.mjs";
import { drawPanes } from "./text_pane.mjs";
import { buildSliders, copyWeights, drawWeights, resetWeights } from "./weights.mjs";

const SCALES = {
  minmax: "Values are brought to 0–1 among these documents before they are weighed.",
  zscore: "Values count by their distance from these documents' mean, in standard deviations: below it, against a document.",
};

/** Take up a ranking, or as much of one as there is, and keep what the reader has open. */
function show(data, stage = "ranking") {
  const isNew = stage === "first" || state.data?.key !== data.key, before = isNew ? [[], []] : [state.shown, [...state.open]].map(idsOf);
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

/** The ids of documents, which outlive their numbers. */
const idsOf = (numbers) => numbers.map((i) => documentOf(i).id);

function restoreOpen(before) {
  const numbers = new Map(state.data.documents.map(({ id }, i) => [id, i]));
  const [shown, open] = before.map((ids) => ids.map((id) => numbers.get(id)).filter((i) => i !== undefined));
  Object.assign(state, { shown, current: shown.at(-1), open: new Set(open) });
  follow();
}

/** Until the reader has chosen a text, show the first one that is undecided, whatever the order becomes. */
function follow() {
  if (state.hasChosen && state.shown.length) return;
  state.current = state.order.find((i) => gradeOf(i) === null) ?? state.order[0];
  state.shown = [state.current];
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
  const { data } = state, count = (test) => data.documents.filter(test).length;
  const stillPending = count(({ pending }) => pending), unread = count(({ reading }) => reading === "unread");
  byId("question").textContent = data.heading;
  document.title = `${data.heading} – mpir`;
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
  if (state.vectors?.data !== state.data) state.vectors = { data: state.data, ...vectorsOf(scored) };
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

// --- decisions ---

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
    return;
  } finally {
    sending = false;
  }
  send();
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

// --- what is in view ---

/** Show one document; on a narrow screen, as a sheet over the list. */
function select(i, opens = false) {
  Object.assign(state, { shown: [i], current: i, hasChosen: true });
  redraw();
  byId("sheet").scrollTop = 0;
  if (opens && isNarrow()) setSheet(true);
  else cardOf(i)?.scrollIntoView({ block: "nearest" });
}

const cardOf = (i) => byId("list").querySelector(`[data-index="${i}"]`)?.closest("li");

/** Show a document beside the current one, two at most; or let go of it. */
function compare(i) {
  state.shown = state.shown.includes(i) ? state.shown.filter((other) => other !== i) : [...state.shown.slice(-1), i];
  if (!state.shown.length) state.shown = [i];
  Object.assign(state, { current: state.shown.at(-1), hasChosen: true });
  redraw();
}

/** Go to a document of the list: its card, and its text beside. */
function focusOn(i) {
  state.limit = Math.max(state.limit, PAGE * Math.ceil((visible().indexOf(i) + 1) / PAGE));
  select(i);
  if (!isSheetOpen()) cardOf(i)?.querySelector(".title").focus({ preventScroll: true });
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

function setSheet(opens) {
  document.body.classList.toggle("sheet", opens);
  for (const id of ["ranking", "drawer"]) byId(id).inert = opens;
  (opens ? byId("back") : cardOf(state.current)?.querySelector(".title"))?.focus();
  if (!opens) cardOf(state.current)?.scrollIntoView({ block: "center" });
}

const closeSheet = () => { if (isSheetOpen()) setSheet(false); };

function setDrawer(opens) {
  byId("drawer").hidden = !opens;
  byId("result").classList.toggle("tuning", opens);
  byId("tuning").setAttribute("aria-expanded", opens);
  (opens ? byId("close") : byId("tuning")).focus();
}

// --- keys ---

const GRADES = { 0: 0, 1: 1, 2: 2, 3: 3, e: 0, m: 1, i: 2 };

/** What a key does to a document: one whose text is not in view was not read, so a grade shows it first. */
export function actionOf(key, isShown) {
  const name = key.toLowerCase();
  if (name in GRADES) return isShown ? "grade" : "show";
  return { arrowdown: "next", j: "next", arrowup: "previous", k: "previous", c: "compare" }[name];
}

const ANYWHERE = { "?": () => byId("keys").showModal(), "/": () => byId("filter").focus(), u: undo, n: nextUndecided };

function onKey(event) {
  const { key, target } = event, isTyping = target.matches?.("textarea, select, input:not([type=checkbox], [type=range], [type=file])");
  if (key === "Escape") { if (isTyping) target.blur(); closeSheet(); return; }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const name = key.toLowerCase();
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

// --- files ---

/** The questions of this visit with a decision, the current one with its present ranking. */
function graded() {
  return [...(state.file ? [state.sessions.get(state.data.query)] : state.sessions.values())].filter(({ decisions }) => decisions.counts().decided)
    .map(({ data, decisions }) => ({ data, grades: decisions.entries, decisions }));
}

const EXPORTS = {
  "documents.ris": () => ris(unlessChanged(), state.order, state.blended, state.decisions.entries),
  "documents.csv": () => csv(unlessChanged(), state.order, state.blended, state.decisions.entries),
  "grades.jsonl": () => graded().map(({ decisions }) => decisions.lines()).join(""),
  "grades.qrels": () => graded().map(({ data, grades }, i) => qrels(data, grades, String(i + 1))).join(""),
  "graded.jsonl": () => gradedLines(graded()),
};

/** The data; without probabilities under changed weights, for which they were not calibrated. */
function unlessChanged() {
  if (!isChanged()) return state.data;
  return { ...state.data, calibrated: false, documents: state.data.documents.map((item) => ({ ...item, probability: null })) };
}

/** Save the chosen form as a file; the server writes those of other programs, from the review. */
async function save() {
  const { value } = byId("form");
  try {
    const files = EXPORTS[value] ? { [value]: EXPORTS[value]() } : (await post("explain/export", { form: value })).files;
    for (const [download, text] of Object.entries(files)) {
      if (!text) throw new Error("No document is graded yet.");
      const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download });
      link.click();
      URL.revokeObjectURL(link.href);
    }
  } catch (error) {
    say(error.message);
  }
}

function begin() {
  Object.assign(actions, { show, refresh, redraw, select, compare, decide, note, nextUndecided });
  beginForm();
  document.addEventListener("keydown", onKey);
  window.addEventListener("storage", onStorage);
  window.addEventListener("beforeunload", (event) => { if (state.decisions?.problem && state.decisions.past.length) event.preventDefault(); });
  for (const name of ["filter", "view"]) byId(name).addEventListener("input", ({ target }) => { Object.assign(state, { [name]: target.value, limit: PAGE }); drawList(); });
  const clicks = {
    more: showMore, tuning: () => setDrawer(byId("drawer").hidden), close: () => setDrawer(false), back: closeSheet, undo, aside: setAside,
    help: () => byId("keys").showModal(), save, reset: resetWeights, copy: copyWeights,
    earlier: () => step(state.current, -1), later: () => step(state.current, 1),
  };
  for (const [id, does] of Object.entries(clicks)) byId(id).addEventListener("click", () => does());
  byId("learn").addEventListener("change", (event) => { state.learns = event.target.checked; refresh(); if (gradeOf(state.current) !== null) nextUndecided(); });
  byId("sheet").addEventListener("wheel", () => { state.hasChosen = true; }, { passive: true });
  byId("import").addEventListener("change", importGrades);
  matchMedia(NARROW).addEventListener("change", closeSheet);
  const inside = byId("data");
  byId("asking").hidden = inside !== null;
  if (inside) show(JSON.parse(inside.textContent));
}

if (typeof document !== "undefined" && byId("ask")) begin();
