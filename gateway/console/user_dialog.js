// What an admin can do with one user.

import { call } from "./api.js";
import { openDialog } from "./dialog.js";
import { el, field, notify, plainInput } from "./dom.js";
import { action, form } from "./form.js";
import { keyList, newKey } from "./keys.js";
import { newPassword } from "./new_password.js";
import { session } from "./session.js";

/** `changed(user)` and `removed()` keep the list up to date. */
export function openUser(user, { changed, removed }) {
  const path = `/users/${user.id}`;
  const isSelf = user.id === session.user.id;
  const keys = keyList(`${path}/keys`);
  const own = el("a", { href: "#/account", onclick: () => dialog.close() }, "Your password and your sessions");
  const dialog = openDialog(user.username, [
    el("p", { class: "muted" }, `Id ${user.id}, role ${user.role}`),
    isSelf ? section("You", el("p", {}, own)) : [section("Password", password(path)), section("Sessions", sessions(path))],
    section("API keys", keys.element, user.role !== "admin" && newKey(keys, `${path}/keys`)),
    section("Access", access(user, path, changed)),
    section("Delete", remove(user, path, () => dialog.close(), removed)),
  ]);
  dialog.showModal();
  keys.load();
}

function section(title, ...content) {
  return el("section", {}, el("h3", {}, title), content);
}

function password(path) {
  return form({
    name: "Set password",
    fields: newPassword("New password"),
    submit: "Set password",
    act: async ({ elements }) => {
      const { message } = await call("PUT", `${path}/password`, { body: { password: elements.password.value } });
      return `${message} Earlier tokens have ended.`;
    },
  }).element;
}

function sessions(path) {
  return action({
    text: "End all tokens",
    explanation: "The user has to log in again everywhere. API keys stay.",
    act: async () => (await call("DELETE", `${path}/tokens`)).message,
  }).element;
}

function access(user, path, changed) {
  const show = () => (trigger.textContent = user.disabled ? "Enable" : "Disable");
  const { element, trigger } = action({
    explanation: "A disabled user keeps the name and the posts; every credential is refused at once.",
    act: async () => {
      const { disabled } = await call("PATCH", path, { body: { disabled: !user.disabled } });
      changed({ disabled });
      show();
      return `${user.username} is ${disabled ? "disabled" : "enabled"}.`;
    },
  });
  show();
  return element;
}

function remove(user, path, close, removed) {
  const name = plainInput({ name: "name" });
  const { element, message } = form({
    name: "Delete",
    fields: [
      el("p", {}, "The user, the tokens and the keys are deleted. Posts stay, without an author."),
      field(`Type ${user.username} to confirm`, name),
    ],
    submit: "Delete",
    isDangerous: true,
    act: async () => {
      if (name.value.normalize("NFC") !== user.username) {
        message.error("The name is not the same.");
        name.focus();
        return;
      }
      await call("DELETE", path);
      close();
      removed();
      notify(`${user.username} is deleted.`);
    },
  });
  return element;
}
