// Turns pages. The API returns the page after an id or a cursor, and the browser's history remembers where earlier ones began.

import { earlier, go, parameters } from "./address.js";
import { button, el } from "./dom.js";

/** `load` shows the page of the list at `path` that the address names. */
export function paging(path, load) {
  let next = null;
  const turn = (after, page, before) => {
    go(path, { ...parameters(), after, page }, { before });
    load();
  };
  // Only a sorted list has cursors.
  const here = () => {
    const { after, sort } = parameters();
    return after && (sort || /^[1-9]\d*$/.test(after)) ? after : 0;
  };
  const number = () => Number(parameters().page) || undefined;
  const back = button("Previous", {}, () => {
    const before = earlier();
    const page = number() - 1;
    if (here()) turn(before.at(-1), page > 1 && before.length ? page : undefined, before.slice(0, -1));
  });
  const forth = button("Next", {}, () => next !== null && turn(next, here() ? number() && number() + 1 : 2, [...earlier(), here()]));
  const shown = el("p", { class: "muted", role: "status" });
  // Not `disabled`: a button that had the focus would lose it.
  const allow = (trigger, isAllowed) => trigger.setAttribute("aria-disabled", !isAllowed);
  return {
    element: el("div", { class: "paging" }, shown, back, forth),
    /** The id or cursor after which the page begins, or 0. */
    get after() {
      return here();
    },
    /** `what` is on the page, such as "25 users". `following` is `after` of the next page, or null. */
    show(what, following) {
      next = following;
      back.textContent = earlier().length || !here() ? "Previous" : "First page";
      allow(back, here() !== 0);
      allow(forth, next !== null);
      const isOnly = !here() && next === null;
      const page = here() ? number() : 1;
      shown.textContent = !what || isOnly || !page ? what : `Page ${page}: ${what}`;
    },
  };
}
