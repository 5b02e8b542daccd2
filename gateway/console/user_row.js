// A row of the list of users.

import { button, el, fill } from "./dom.js";
import { session } from "./session.js";
import { cellsOf } from "./user_columns.js";

/**
 * `open(user)` shows the user's dialog, and `selected(isSelected)` runs when the checkbox is used. `show(changed)` of the
 * result updates the row.
 */
export function userRow(user, columns, { open, selected }) {
  const isSelf = user.id === session.user.id;
  const why = isSelf && "Your own account is not changed together with others.";
  const box = el("input", {
    type: "checkbox",
    "aria-label": `Select ${user.username}`,
    disabled: isSelf,
    title: why,
    onchange: () => selected(box.checked),
  });
  const manage = button("Manage", { "aria-label": `Manage ${user.username}` }, () => open(user));
  const element = el("tr", {});
  const show = (changed) => {
    Object.assign(user, changed);
    const name = el("td", { class: "name" }, el("span", {}, user.username), isSelf && chip("you"), user.disabled && chip("disabled"));
    const cells = cellsOf(user, columns, name);
    fill(element, el("td", { class: "select" }, box), cells, el("td", { class: "end" }, manage));
  };
  show({});
  return { user, element, box, show };
}

function chip(text) {
  return el("span", { class: "chip" }, text);
}
