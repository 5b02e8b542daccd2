// Lists by keyset: the API returns pages after an id, and this remembers where the earlier pages began.

import { query } from "./api.js";
import { button, el } from "./dom.js";

/** `load(after)` shows the page after an id. `start`: where the first page begins, after a reload of the browser. */
export function paging(load, start = 0) {
  let before = [];
  let after = start;
  let next = null;
  const back = button("Previous", {}, () => go(before.length ? before.pop() : 0));
  const forth = button("Next", {}, () => {
    before.push(after);
    go(next);
  });
  const shown = el("p", { role: "status" });
  const go = (id) => {
    after = id;
    load();
  };
  // Not `disabled`: a button that had the focus would lose it.
  const allow = (trigger, isAllowed) => trigger.setAttribute("aria-disabled", String(!isAllowed));
  for (const trigger of [back, forth]) {
    const stop = (event) => trigger.getAttribute("aria-disabled") === "true" && event.stopImmediatePropagation();
    trigger.addEventListener("click", stop, { capture: true });
  }
  return {
    element: el("div", { class: "paging" }, shown, back, forth),
    get after() {
      return after;
    },
    restart() {
      [before, after] = [[], 0];
    },
    /** `text` describes the page that is shown; `following` is the API's `next`. */
    show(text, following) {
      next = following;
      back.textContent = before.length || !after ? "Previous" : "First page";
      allow(back, after > 0);
      allow(forth, next !== null);
      shown.textContent = text;
    },
  };
}

/** Keeps the state of a list in the address, so that a reload shows the same page. */
export function remember(path, parameters) {
  history.replaceState(null, "", query(`#${path}`, parameters));
}

/** The parameters of the address. */
export function remembered() {
  return Object.fromEntries(new URLSearchParams(location.hash.split("?")[1]));
}
