// The form: a question, documents by text, file or search, and the ranking as it arrives.

import { byId, say } from "./elements.mjs";
import { actions, state } from "./state.mjs";
import { post, stream } from "./stream.mjs";

const EXAMPLE = {
  query: "Which gene is mutated in cystic fibrosis?",
  documents: "Many a gene is mutated in pancreatic cancer.\n\nCystic fibrosis is caused by mutations of CFTR. Carriers are healthy.",
};

function fillExample() {
  forgetFiles();
  for (const [id, text] of Object.entries(EXAMPLE)) byId(id).value = text;
  byId("query").focus();
}

const dropped = [];
let reading = Promise.resolve(), asking = null;

function forgetFiles() {
  dropped.length = 0;
  byId("files").value = "";
  byId("dropped").textContent = "";
  byId("forget").hidden = true;
}

/** A file's content in base64, which JSON can hold. */
const content = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader(), onload = () => resolve(reader.result.split(",")[1]), onerror = () => reject(reader.error);
  Object.assign(reader, { onload, onerror }).readAsDataURL(file);
});

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

/** What the form asks for: the documents that were given, or a search. */
function wish() {
  const form = new FormData(byId("ask")), text = form.get("documents").trim();
  const pasted = text.split(/\n\s*\n/).map((part) => part.trim()).filter(Boolean);
  const documents = [...dropped, ...pasted], query = form.get("query");
  if (documents.length) return { query, documents };
  const types = form.get("types").split(",").map((type) => type.trim()).filter(Boolean);
  const limits = form.get("mode") === "pubmed" ? { start: form.get("start"), end: form.get("end"), types, k: 200 } : {};
  return { query, mode: form.get("mode") ?? undefined, ...limits };
}

function showProgress(done, total) {
  byId("progress").hidden = false;
  byId("bar").max = total || 1;
  byId("bar").value = done;
  byId("read").textContent = total ? `${done} of ${total} documents read` : "Searching …";
}

/** Show what arrives: the first stage's order, refined rankings, and the final one. */
function take(name, value) {
  if (name === "progress") { showProgress(value.done, value.total); return; }
  actions.show(value, name);
  if (name === "first") {
    showProgress(0, value.pending.length);
    byId("asking").open = false;
    say(["In the search's order; the models are reading.", ...(value.warnings ?? [])].join(" "));
  }
}

async function ask(event) {
  event.preventDefault();
  asking?.abort();
  await reading;
  const body = wish(), mine = new AbortController();
  asking = mine;
  say(body.mode === "pubmed" ? "Searching PubMed and Europe PMC …" : "Ranking …");
  showProgress(0, 0);
  try {
    await stream("explain/ranking", body, take, mine.signal);
    say([`${state.data.documents.length} documents ranked.`, ...(state.data.warnings ?? [])].join(" "));
  } catch (error) {
    if (asking === mine) say(endOf(error));
  } finally {
    if (asking === mine) byId("progress").hidden = true;
  }
}

/** Why a ranking ended early; what has been read stays. */
function endOf(error) {
  const read = state.data?.documents.filter(({ pending }) => !pending).length ?? 0;
  const rest = state.data?.documents.some(({ pending }) => pending) ? ` ${read} documents are ranked; the others stand as the search ranked them. Rank again to go on.` : "";
  if (error.name === "AbortError") return `Cancelled.${rest}`;
  const reason = error instanceof TypeError ? "the server does not answer; start mpir again." : error.message;
  return `No ${rest ? "complete " : ""}ranking: ${reason}${rest}`;
}

export function beginForm() {
  byId("ask").addEventListener("submit", ask);
  byId("ask").addEventListener("dragover", (event) => event.preventDefault());
  byId("ask").addEventListener("drop", onDrop);
  byId("files").addEventListener("change", (event) => { reading = readFiles(event.target.files); });
  byId("forget").addEventListener("click", forgetFiles);
  byId("example").addEventListener("click", fillExample);
  byId("cancel").addEventListener("click", () => asking?.abort());
}
