// A row of the list of users: the role is changed in place.

import { call, refreshRole } from "./api.js";
import { button, el, fill, notify } from "./dom.js";
import { outcome, run } from "./form.js";
import { roleOptions } from "./roles.js";
import { session } from "./session.js";

/** `open(user)` shows the user's dialog. `show(user)` of the result shows what has changed. */
export function userRow(user, open) {
  const message = outcome();
  const name = el("td", { class: "name" });
  const role = el("select", { "aria-label": `Role of ${user.username}`, onchange: () => change(role.value) }, roleOptions(user.role));
  const manage = button("Manage", { "aria-label": `Manage ${user.username}` }, () => open(user));
  const id = el("td", { class: "id" }, user.id);
  const element = el("tr", {}, id, name, el("td", {}, role), el("td", { class: "end" }, manage));

  const show = (changed) => {
    Object.assign(user, changed);
    const isSelf = user.id === session.user?.id;
    fill(name, el("span", {}, user.username), isSelf && chip("you"), user.disabled && chip("disabled"), message.place);
    role.value = user.role;
  };

  async function change(wanted) {
    const before = user.role;
    const isDone = await run(role, message, async () => {
      try {
        await call("PUT", `/users/${user.id}/role`, { body: { role: wanted } });
      } catch (error) {
        role.value = before;
        // The stored role decides, so look whether the change was made.
        if (error.isUncertain) await call("GET", `/users/${user.id}`).then(show, () => {});
        throw error;
      }
    });
    if (!isDone) return;
    show({ role: wanted });
    notify(`${user.username} is now ${wanted}.`);
    if (user.id === session.user?.id) await refreshRole();
  }

  show({});
  return { element, show };
}

function chip(text) {
  return el("span", { class: "chip" }, text);
}
