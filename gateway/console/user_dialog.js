// The dialog in which an admin manages a user.

import { call, refresh } from "./api.js";
import { openDialog } from "./dialog.js";
import { el, field, notify, plainInput } from "./dom.js";
import { action, confirmed, errorAt, form } from "./form.js";
import { keyList, newKey } from "./keys.js";
import { newPassword } from "./new_password.js";
import { makeLink } from "./password_link.js";
import { session } from "./session.js";
import { sessionList } from "./sessions.js";
import { moment } from "./times.js";
import { access } from "./user_access.js";
import { userGroups } from "./user_groups.js";
import { roleForm } from "./user_role.js";

/** `changed(user)`, `removed()` and `reload()` keep the list up to date. */
export async function openUser(user, { changed, removed, reload }) {
  const path = `/users/${user.id}`;
  const isSelf = user.id === session.user.id;
  const isLast = isSelf && (await isLastAdmin());
  const keys = keyList(`${path}/keys`);
  const groups = userGroups(user, path);
  const sessions = !isSelf && sessionList(`${path}/sessions`);
  const done = () => dialog.close();
  const own = el("a", { href: "#/account", onclick: done }, "Your password and your sessions");
  const { created_at: created, last_sign_in_at: last } = user;
  const facts = [`Id ${user.id}`, created && `created ${moment(created)}`, last ? `last sign-in ${moment(last)}` : "no sign-in recorded"];
  const dialog = openDialog(user.username, [
    el("p", { class: "muted" }, facts.filter(Boolean).join(", "), ". ", el("a", { href: `#/audit?user_id=${user.id}`, onclick: done }, "What happened")),
    // Offers nothing that the API would refuse.
    !isLast && section("Role", roleForm(user, path, { changed, done, reload })),
    isSelf && section("You", el("p", {}, own), isLast && el("p", { class: "muted" }, "You are the only enabled admin without an end, so you cannot disable yourself, end your account or change your role.")),
    section("Groups", groups.element),
    !isSelf && section("Password", password(path, sessions.load), makeLink(path)),
    !isSelf && section("Second step", secondStep(path)),
    !isSelf && section("Sessions", sessions.element, tokens(path, sessions.load)),
    user.username !== "admin" && section("Name", rename(user, path, isSelf, changed, done)),
    section("API keys", keys.element, user.role !== "admin" && newKey(keys, `${path}/keys`)),
    !isLast && section("Access", access(user, path, isSelf, changed)),
    !isSelf && user.username !== "admin" && section("Delete", remove(user, path, done, removed)),
  ]);
  dialog.showModal();
  groups.load();
  keys.load();
  if (sessions) sessions.load();
}

async function isLastAdmin() {
  const admins = call("GET", "/users?role=admin&disabled=false&include=groups&limit=200");
  const isOther = ({ id, until }) => id !== session.user.id && !until;
  return admins.then(({ users, next }) => next === null && !users.some(isOther), () => false);
}

function section(title, ...content) {
  return el("section", {}, el("h3", {}, title), content);
}

function password(path, changed) {
  return form({
    name: "Set password",
    fields: newPassword("New password"),
    submit: "Set password",
    act: async ({ elements }) => {
      const { message } = await call("PUT", `${path}/password`, { body: { password: elements.password.value } });
      changed();
      return `${message} Sessions and access tokens have ended.`;
    },
  }).element;
}

function secondStep(path) {
  const act = async () => {
    await call("DELETE", `${path}/second-factor`);
    return "The second step was removed.";
  };
  return [el("p", {}, "For users who have lost their phone and their recovery codes. They can then sign in with the password alone."), confirmed("Remove second step", act)];
}

function tokens(path, changed) {
  return action({
    text: "End all tokens",
    explanation: "Ends all sessions and all access tokens, which are not listed here. API keys keep working.",
    act: async () => {
      const { message } = await call("DELETE", `${path}/tokens`);
      changed();
      return message;
    },
  }).element;
}

function rename(user, path, isSelf, changed, done) {
  const name = plainInput({ name: "username", value: user.username, maxlength: 255 });
  return form({
    name: "Name",
    fields: [
      el("p", {}, "Renaming ends all access tokens. Sessions, API keys and posts stay. Applications may still know the user by the old name."),
      field("Username", name),
    ],
    submit: "Rename",
    act: async () => {
      const before = user.username;
      const { username } = await call("PATCH", path, { body: { username: name.value } });
      if (username === before) return `The name is already ${username}.`;
      changed({ username });
      done();
      if (isSelf) await refresh();
      else notify(`${before} was renamed to ${username}.`);
    },
  }).element;
}

function remove(user, path, done, removed) {
  const name = plainInput({ name: "name" });
  return form({
    name: "Delete",
    fields: [
      el("p", {}, "Deletes the user with all sessions and API keys. Posts stay without an author, unless the server deletes them."),
      field(`Type ${user.username} to confirm`, name),
    ],
    submit: "Delete",
    isDangerous: true,
    act: async () => {
      if (name.value.normalize("NFC") !== user.username) return errorAt(name, "The name does not match.");
      await call("DELETE", path);
      done();
      removed();
      notify(`${user.username} was deleted.`);
    },
  }).element;
}
