// What an admin can do with one user.

import { call } from "./api.js";
import { openDialog } from "./dialog.js";
import { el, field, fill, notify } from "./dom.js";
import { action, form } from "./form.js";
import { newPassword } from "./new_password.js";
import { session } from "./session.js";

/** `changed(user)` and `removed()` keep the list up to date. */
export function openUser(user, { changed, removed }) {
  const path = `/users/${user.id}`;
  const isSelf = user.id === session.user.id;
  const dialog = openDialog(user.username, [
    el("p", { class: "muted" }, `Id ${user.id}, role ${user.role}${isSelf ? ", this is you" : ""}`),
    isSelf ? section("Password", el("p", {}, el("a", { href: "#/account", onclick: () => dialog.close() }, "Change your own password"))) : section("Password", password(path)),
    section("Access", access(user, path, changed)),
    section("Delete", remove(user, path, () => dialog.close(), removed)),
  ]);
  dialog.showModal();
}

function section(title, ...content) {
  return el("section", {}, el("h3", {}, title), content);
}

function password(path) {
  const fields = newPassword("New password");
  return form({
    name: "Set password",
    fields: [fields],
    submit: "Set password",
    act: async ({ elements }) => {
      const { message } = await call("PUT", `${path}/password`, { body: { password: elements.password.value } });
      return `${message} Earlier tokens have ended.`;
    },
  }).element;
}

function access(user, path, changed) {
  const place = el("div", {});
  const show = (text, hadFocus) => {
    const { element, trigger, message } = action({
      text: user.disabled ? "Enable" : "Disable",
      explanation: user.disabled
        ? "This user is disabled: every credential is refused."
        : "A disabled user keeps the name and the posts, and every credential is refused at once.",
      act: async () => {
        const answer = await call("PATCH", path, { body: { disabled: !user.disabled } });
        changed({ disabled: answer.disabled });
        show(`${user.username} is ${answer.disabled ? "disabled" : "enabled"}.`, true);
      },
    });
    fill(place, element);
    if (text) message.good(text);
    if (hadFocus) trigger.focus();
  };
  show();
  return place;
}

function remove(user, path, close, removed) {
  const name = el("input", { name: "name", autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
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
