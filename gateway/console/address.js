// Keeps in the address what a list shows, such as `#/users?role=author&after=25`, so that a reload shows the same
// and Back leads to the previous page.

import { query } from "./api.js";

const MAX_BEFORE = 1000;

/** The parameters in the fragment of the address. */
export function parameters() {
  return Object.fromEntries(new URLSearchParams(location.hash.split("?")[1]));
}

/** Where the earlier pages of the list began; empty if the address was typed by hand. */
export function earlier() {
  return history.state?.before ?? [];
}

/** Changes the address. With `isReplaced`, the new one takes the place of the current one, which Back then skips. */
export function go(path, given, { before = [], isReplaced } = {}) {
  const state = { before: before.slice(-MAX_BEFORE) };
  history[isReplaced ? "replaceState" : "pushState"](state, "", query(`#${path}`, given));
}
