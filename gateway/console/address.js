// What a list shows is in the address, `#/users?role=author&after=25`: a reload shows the same, and Back leads
// to the page before.

import { query } from "./api.js";

const MAX_BEFORE = 1000;

/** The parameters of the address. */
export function parameters() {
  return Object.fromEntries(new URLSearchParams(location.hash.split("?")[1]));
}

/** Where the earlier pages of the list began; none is known if the address was given by hand. */
export function earlier() {
  return history.state?.before ?? [];
}

/** Changes the address; `isReplaced`: Back then leads to what was before the present one. */
export function go(path, given, { before = [], isReplaced } = {}) {
  const state = { before: before.slice(-MAX_BEFORE) };
  history[isReplaced ? "replaceState" : "pushState"](state, "", query(`#${path}`, given));
}
