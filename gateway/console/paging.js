// Lists by keyset: the API returns pages after an id, and this remembers where the earlier pages began.

import { query } from "./api.js";
import { button, el } from "./dom.js";

/** `load` shows the page after `after`. */
export function paging(load) {
  let before = [];
  let after = Number(remembered().after) || 0;
  let next = null;
  const back = button("Previous", {}, () => after && go(before.pop() ?? 0));
  const forth = button("Next", {}, () => next !== null && go(next, before.push(after)));
  const shown = el("p", { class: "muted", role: "status" });
  const go = (id) => {
    after = id;
    load();
  };
  // Not `disabled`: a button that had the focus would lose it.
  const allow = (trigger, isAllowed) => trigger.setAttribute("aria-disabled", !isAllowed);
  return {
    element: el("div", { class: "paging" }, shown, back, forth),
    get after() {
      return after;
    },
    restart() {
      [before, after] = [[], 0];
    },
    show(items, following) {
      next = following;
      back.textContent = before.length || !after ? "Previous" : "First page";
      allow(back, after > 0);
      allow(forth, next !== null);
      shown.textContent = items.length ? `Ids ${items[0].id} to ${items.at(-1).id}` : "";
    },
  };
}

/** Keeps the state of a list in the address, so that a reload shows the same page. */
export function remember(path, parameters) {
  // Another view may be shown by now.
  if (!location.hash || location.hash.startsWith(`#${path}`)) history.replaceState(null, "", query(`#${path}`, parameters));
}

/** The parameters of the address. */
export function remembered() {
  return Object.fromEntries(new URLSearchParams(location.hash.split("?")[1]));
}
