// What the page knows, and what its parts may ask of it.

export const PAGE = 20, NARROW = "(max-width: 60rem)";
export const state = {
  data: null, tuned: null, weights: null, blended: [], order: [], decisions: null, sessions: new Map(), file: "",
  shown: [], current: -1, limit: PAGE, filter: "", view: "all", open: new Set(), learns: false, vectors: null, hasChosen: false,
};

/** Filled by explain.mjs, so that no two modules import each other. */
export const actions = {};

export const documentOf = (i) => state.data.documents[i];
export const gradeOf = (i) => state.decisions.grade(documentOf(i).id);
export const isNarrow = () => matchMedia(NARROW).matches;
export const isSheetOpen = () => document.body.classList.contains("sheet");

/** Whether the text of a document is in view, so that it may be graded. */
export const isRead = (i) => state.shown.includes(i) && (!isNarrow() || isSheetOpen());

/** The weights are not those that the probabilities were calibrated for. */
export const isChanged = () => JSON.stringify(state.weights) !== JSON.stringify(state.tuned);

/** The probability of a document or sentence, or null where there is none under these weights. */
export const probabilityOf = ({ probability = null }) => (isChanged() ? null : probability);
