// A row of the list of users.

import { button, el, fill } from "./dom.js";
import { session } from "./session.js";
import { dayOr } from "./times.js";

/** `open(user)` shows the user's dialog. `show(changed)` of the result updates the row. */
export function userRow(user, open) {
  const name = el("td", { class: "name" });
  const role = el("td", { class: "role" });
  const manage = button("Manage", { "aria-label": `Manage ${user.username}` }, () => open(user));
  const element = el(
    "tr",
    {},
    el("td", { class: "id" }, user.id),
    name,
    role,
    el("td", { class: "time" }, dayOr(user.created_at, "unknown")),
    el("td", { class: "time" }, dayOr(user.last_sign_in_at, "none recorded")),
    el("td", { class: "end" }, manage),
  );
  const show = (changed) => {
    Object.assign(user, changed);
    const isSelf = user.id === session.user.id;
    fill(name, el("span", {}, user.username), isSelf && chip("you"), user.disabled && chip("disabled"));
    role.textContent = user.role;
  };
  show({});
  return { element, show };
}

function chip(text) {
  return el("span", { class: "chip" }, text);
}
