// A reader's decisions on one question's documents: kept in the browser, undone, merged with another page's, exported.

export const INCLUDE = 2, MAYBE = 1, EXCLUDE = 0;

/** What a grade decides. */
export const decisionOf = (grade) => (
  grade === null || grade === undefined ? "undecided" : grade >= INCLUDE ? "included" : grade === MAYBE ? "maybe" : "excluded");

/** Whether two fingerprints are of one document, of which an edit may change the title or the abstract (content.py). */
function fits(first, second) {
  const other = second.split("-");
  return first === second || first.split("-").some((hash, i) => hash && hash === other[i]);
}

const isGrade = (grade) => grade === null || [0, 1, 2, 3].includes(grade);

export class Decisions {
  /**
   * `storage` is a localStorage, or null; `ids` are the documents of the list, and `fingerprints` theirs by id. With
   * `hasFile`, a file on the server holds the decisions, whatever the question, and the browser what is not there yet.
   */
  constructor({ query, key, ids, storage, fingerprints = new Map(), hasFile = false }) {
    Object.assign(this, { query, key: `mpir:${key}`, ids: new Set(ids.map(String)), storage, fingerprints, hasFile, past: [], problem: "" });
    this.entries = new Map();
    this.unsent = new Map();
  }

  /** Take up what the browser kept, and return how many documents are decided. */
  restore() {
    try {
      this.merge(this.kept());
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

  /** What the browser has, of this page and others. */
  kept() { return JSON.parse(this.storage?.getItem(this.key) ?? "[]"); }

  /** Add the decisions to those of other pages in the browser, or what is not in the file; `problem` says why that failed. */
  keep(sent = []) {
    if (!this.storage) {
      this.problem = "This browser keeps nothing for this page; export your grades before you leave.";
      return;
    }
    try {
      const entries = new Map(this.kept().map((entry) => [entry.id, entry])), isOlder = ({ id, time }) => !(entries.get(id)?.time >= time);
      for (const entry of this.hasFile ? this.unsent.values() : this.list()) if (isOlder(entry)) entries.set(entry.id, entry);
      for (const { id, time } of sent) if (entries.get(id)?.time <= time) entries.delete(id);
      this.storage.setItem(this.key, JSON.stringify([...entries.values()]));
      this.problem = "";
    } catch (error) {
      this.problem = `This browser cannot store your grades (${error.name}); export them before you leave.`;
    }
  }

  /** Note that decisions are in the file. */
  noteSent(sent) {
    for (const { id, time } of sent) if (this.unsent.get(id)?.time === time) this.unsent.delete(id);
    this.keep(sent);
  }

  /** All decisions and notes, in the order of the first one on each document. */
  list() { return [...this.entries].map(([id, entry]) => ({ id, ...entry })); }

  /** Take decisions from another page or file where they are later; returns how many changed something. */
  merge(list) {
    let changed = 0;
    for (const { id, grade, note = "", time = 0 } of list) {
      const mine = this.entries.get(String(id));
      if (!isGrade(grade) || mine?.time >= time || !this.ids.has(String(id))) continue;
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

  /** The decisions as JSON lines, each with the fingerprint of its document. */
  lines() {
    return this.list().map((entry) => `${JSON.stringify({ query: this.query, ...entry, fingerprint: this.fingerprints.get(entry.id) })}\n`).join("");
  }

  /** Whether an entry is of a document that is here, by its id and the fingerprint that it may have. */
  isHere({ id, fingerprint }) {
    return this.ids.has(String(id)) && (!fingerprint || fits(fingerprint, this.fingerprints.get(String(id)) ?? fingerprint));
  }

  /** Import JSON lines. Unless a file holds what any question decided, those of other questions are left; `error` says why. */
  read(text, name) {
    const entries = [];
    let others = 0;
    for (const [number, content] of text.split("\n").entries()) {
      if (!content.trim()) continue;
      const record = parsed(content);
      if (record === null) return { error: `${name}:${number + 1}: not a grade (expected {"query": …, "id": …, "grade": 0 to 3}); nothing was imported.` };
      if (record.query !== this.query && !this.hasFile) { others += 1; continue; }
      entries.push(...record.documents ?? [record]);
    }
    const graded = entries.filter(({ grade, note }) => grade !== undefined || note);
    if (!graded.length) return { error: `${name}: ${others ? "its grades are of other questions" : "it has no grades"}; nothing was imported.` };
    const gone = graded.filter((entry) => !this.isHere(entry)), later = Date.now();
    const usable = graded.filter((entry) => this.isHere(entry))
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
