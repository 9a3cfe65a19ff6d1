// A reader's decisions on one question's documents: kept in the browser, undone, merged with another page's, exported.

export const INCLUDE = 2, MAYBE = 1, EXCLUDE = 0;

/** What a grade decides. */
export const decisionOf = (grade) => (
  grade === null || grade === undefined ? "undecided" : grade >= INCLUDE ? "included" : grade === MAYBE ? "maybe" : "excluded");

const isGrade = (grade) => grade === null || [0, 1, 2, 3].includes(grade);

export class Decisions {
  /** `storage` is a localStorage, or null; `ids` are the documents of the list. */
  constructor({ query, key, ids, storage }) {
    Object.assign(this, { query, key: `mpir:${key}`, ids: new Set(ids.map(String)), storage, past: [], problem: "" });
    this.entries = new Map();
    this.unsent = new Map();
  }

  /** Take up what the browser kept, and return how many documents are decided. */
  restore() {
    try {
      const kept = JSON.parse(this.storage?.getItem(this.key) ?? "[]");
      this.merge(kept);
    } catch (error) {
      this.problem = `This browser's store cannot be read (${error.message}); export your grades before you leave.`;
    }
    return this.counts().decided;
  }

  grade(id) { return this.entries.get(String(id))?.grade ?? null; }

  note(id) { return this.entries.get(String(id))?.note ?? ""; }

  /** Grade a document, or write a note about it; undo() takes it back. */
  set(id, change, time = Date.now()) {
    const name = String(id), before = this.entries.get(name) ?? { grade: null, note: "" };
    const after = { ...before, ...change, time: Math.max(time, (before.time ?? 0) + 1) };
    if (after.grade === before.grade && after.note === before.note) return false;
    this.past.push({ id: name, before });
    this.write(name, after);
    return true;
  }

  /** Take the last change back, and return the id of its document, or null. */
  undo() {
    const last = this.past.pop();
    if (!last) return null;
    const { grade, note } = last.before;
    this.write(last.id, { grade, note, time: Math.max(Date.now(), this.entries.get(last.id).time + 1) });
    return last.id;
  }

  write(name, entry) {
    this.entries.set(name, entry);
    this.unsent.set(name, { id: name, ...entry });
    this.keep();
  }

  /** Store all decisions in the browser; `problem` says why that failed. */
  keep() {
    if (!this.storage) {
      this.problem = "This browser keeps nothing for this page; export your grades before you leave.";
      return;
    }
    try {
      this.storage.setItem(this.key, JSON.stringify(this.list()));
      this.problem = "";
    } catch (error) {
      this.problem = `This browser cannot store your grades (${error.name}); export them before you leave.`;
    }
  }

  /** All decisions and notes, in the order of the first one on each document. */
  list() { return [...this.entries].map(([id, entry]) => ({ id, ...entry })); }

  /** Take decisions from another page or file where they are later; returns how many changed something. */
  merge(list) {
    let changed = 0;
    for (const { id, grade, note = "", time = 0 } of list) {
      const mine = this.entries.get(String(id));
      if (!isGrade(grade) || (mine && mine.time >= time)) continue;
      if (!this.ids.has(String(id))) continue;
      changed += !mine || mine.grade !== grade || mine.note !== note;
      this.entries.set(String(id), { grade, note, time });
    }
    return changed;
  }

  counts() {
    const counts = { included: 0, maybe: 0, excluded: 0 };
    for (const { grade } of this.entries.values()) if (grade !== null) counts[decisionOf(grade)] += 1;
    const decided = counts.included + counts.maybe + counts.excluded;
    return { ...counts, decided, left: this.ids.size - decided, total: this.ids.size };
  }

  /** The decided documents, in the order of the decisions. */
  decided() { return this.list().filter(({ grade }) => grade !== null); }

  /** Whether each decided document is relevant (included, or maybe), in the order of the decisions. */
  sequence() { return this.decided().map(({ grade }) => grade > EXCLUDE); }

  /** The decisions as JSON lines, the form of NAME.grades.jsonl. */
  lines() { return this.list().map((entry) => `${JSON.stringify({ query: this.query, ...entry })}\n`).join(""); }

  /** Import JSON lines. Nothing is taken from a file that is not of this question; `error` says why. */
  read(text, name) {
    const entries = [];
    let others = 0;
    for (const [number, content] of text.split("\n").entries()) {
      if (!content.trim()) continue;
      const record = parsed(content);
      if (record === null) return { error: `${name}:${number + 1}: not a grade (expected {"query": …, "id": …, "grade": 0 to 3}); nothing was imported.` };
      if (record.query !== this.query) { others += 1; continue; }
      entries.push(...record.documents ?? [record]);
    }
    const graded = entries.filter(({ grade, note }) => grade !== undefined || note);
    if (!graded.length) return { error: `${name}: ${others ? "its grades are of other questions" : "it has no grades"}; nothing was imported.` };
    const gone = graded.filter(({ id }) => !this.ids.has(String(id))), later = Date.now();
    const usable = graded.filter(({ id }) => this.ids.has(String(id)))
      .map((entry) => ({ ...entry, grade: entry.grade ?? null, time: entry.time ?? later }));
    const changed = this.merge(usable);
    for (const { id } of usable) this.unsent.set(String(id), { id: String(id), ...this.entries.get(String(id)) });
    this.keep();
    return { changed, gone: gone.map(({ id }) => id), others, read: usable.length };
  }
}

/** A line as a decision or as a question with graded documents, or null. */
function parsed(content) {
  try {
    const record = JSON.parse(content), entries = record.documents ?? [record];
    const isRight = typeof record.query === "string" && entries.every(({ id, grade }) => id !== undefined && (grade === undefined || isGrade(grade)));
    return isRight ? record : null;
  } catch {
    return null;
  }
}
