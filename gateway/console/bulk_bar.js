// The buttons for the users that are selected.

import { ACTIONS } from "./bulk_actions.js";
import { openBulk } from "./bulk_dialog.js";
import { count } from "./counts.js";
import { button, el } from "./dom.js";

/** `finished()` runs after changes, and `cleared()` when nobody is selected any longer. */
export function bulkBar({ selection, filters, finished, cleared }) {
  const all = button("", { class: "quiet small" }, () => {
    selection.all(filters.values());
    actions[0].focus();
  });
  const actions = Object.entries(ACTIONS).map(([name, prepare]) =>
    button(name, { class: name === "Delete" ? "danger small" : "small" }, () => openBulk(name, prepare, selection, finished)),
  );
  const clear = button("Clear", { class: "quiet small" }, () => {
    selection.clear();
    cleared();
  });
  const element = el("div", { class: "actions", role: "group", "aria-label": "Selected users" }, all, actions, clear);
  return {
    element,
    /** `canExtend`: the whole page is selected, and more match; `total`: so many. */
    show(canExtend, total) {
      element.hidden = selection.isEmpty;
      all.hidden = !canExtend || !total || Boolean(selection.filters);
      all.textContent = `Select all ${total?.toLocaleString("en")} that match`;
    },
    /** Says how many are selected. `total` is undefined if it could not be read. */
    text(total) {
      if (!selection.filters) return `${count(selection.users.length)} selected`;
      return total === undefined ? "All users that match are selected" : `All ${count(total)} that match are selected`;
    },
  };
}
