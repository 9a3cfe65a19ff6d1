// The drawer of weights: sliders that blend the columns anew.

import { feedback, sum } from "./blend.mjs";
import { byId, make, say } from "./elements.mjs";
import { actions, isChanged, state } from "./state.mjs";

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
  "β bm25": ["Search score", "How much the first search's own score of a document counts."],
  "β words": ["Same words", "How much it counts that a document has the question's words."],
  "β topic": ["Same subject", "How much it counts that a document is about the question's subject, in whatever words."],
  "β sentences": ["Answering sentence", "How much it counts that single sentences of a document answer."],
};

function explanationOf(label) {
  const letter = label[0], name = label.slice(2);
  if (label === "α context") return "What a sentence gains from the document that it stands in.";
  if (letter === "w") return `What the document's best ${name.replace(" ", " number ")} counts.`;
  return `What ${name} counts in a ${letter === "α" ? "sentence" : "document"}'s score.`;
}

export function buildSliders() {
  for (const id of ["plain", "sliders"]) byId(id).replaceChildren();
  knobs().forEach((knob, k) => byId(knob.label in PLAIN ? "plain" : "sliders").append(slider(knob, k)));
}

function slider(knob, k) {
  const value = knob.get(state.tuned), most = Math.max(1, 2 * Math.abs(value));
  const [label, explanation] = PLAIN[knob.label] ?? [knob.label, explanationOf(knob.label)];
  const input = make("input", {
    type: "range", id: `knob${k}`, min: value < 0 ? -most : 0, max: most, step: "any", value, oninput: () => move(knob, Number(input.value)),
  });
  input.setAttribute("aria-describedby", `about${k}`);
  return make("div", { className: "slider" },
    make("label", { htmlFor: `knob${k}` }, label), make("output", { htmlFor: `knob${k}` }),
    make("p", { className: "hint", id: `about${k}` }, explanation), input);
}

function move(knob, value) {
  const before = knob.get(state.weights);
  knob.set(value);
  const limit = state.weights.context === "fixpoint" && feedback(state.weights) >= 1;
  say(limit ? "There is no ranking beyond this weight: a document's score would feed itself." : "");
  if (limit) { knob.set(before); drawWeights(); } else actions.refresh();
}

export function drawWeights() {
  const all = knobs();
  const count = sum(all.map((knob, k) => {
    const value = knob.get(state.weights), moved = value !== knob.get(state.tuned), input = byId(`knob${k}`), row = input.parentElement;
    row.classList.toggle("moved", moved);
    row.querySelector("output").textContent = value.toFixed(4);
    if (Number(input.value) !== value) input.value = value;
    return Number(moved);
  }));
  byId("changed").textContent = count ? `${count} of ${all.length} weights changed from tuned.` : "The weights are as tuned.";
  byId("json").textContent = weightsJson();
}

/** What `--weights FILE` takes. Changed weights no longer have the record of how they were tuned. */
function weightsJson() {
  const madeBy = isChanged() ? { source: "set by hand on the explain page" } : state.tuned.made_by;
  return `${JSON.stringify({ ...state.weights, made_by: madeBy }, null, 2)}\n`;
}

export function resetWeights() {
  state.weights = structuredClone(state.tuned);
  say("");
  actions.refresh();
}

export async function copyWeights() {
  try {
    await navigator.clipboard.writeText(weightsJson());
    say("Copied.");
  } catch {
    byId("json").parentElement.open = true;
    say("The browser does not let the page copy; the text is below.");
  }
}
