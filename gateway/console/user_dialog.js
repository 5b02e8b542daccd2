// The dialog in which an admin manages a user. Each part is for one subject.

import { call } from "./api.js";
import { openDialog } from "./dialog.js";
import { el } from "./dom.js";
import { keyList, newKey } from "./keys.js";
import { session } from "./session.js";
import { tabs } from "./tabs.js";
import { moment } from "./times.js";
import { accessPart } from "./user_access.js";
import { groupsPart } from "./user_groups.js";
import { namePart } from "./user_name.js";
import { rolePart } from "./user_role.js";
import { signInPart } from "./user_sign_in.js";

/** `changed(user)`, `removed()` and `reload()` keep the list up to date. */
export async function openUser(user, { changed, removed, reload }) {
  const isSelf = user.id === session.user.id;
  const isLast = isSelf && (await isLastAdmin());
  const done = () => dialog.close();
  const context = { user, path: `/users/${user.id}`, isSelf, changed, removed, reload, done };
  // Offers nothing that the API would refuse.
  const parts = [
    !isLast && rolePart(context),
    groupsPart(context),
    !isLast && accessPart(context),
    isSelf ? ownSignInPart(done) : signInPart(context),
    keysPart(context),
    user.username !== "admin" && namePart(context),
  ];
  const dialog = openDialog(user.username, [
    facts(user, done),
    isLast && el("p", { class: "muted" }, "You are the only enabled admin without an end, so you cannot disable yourself, end your account or change your role."),
    tabs(`Parts of ${user.username}`, parts.filter(Boolean)),
  ]);
  dialog.classList.add("manage");
  dialog.showModal();
}

async function isLastAdmin() {
  const admins = call("GET", "/users?role=admin&disabled=false&include=groups&limit=200");
  const isOther = ({ id, until }) => id !== session.user.id && !until;
  return admins.then(({ users, next }) => next === null && !users.some(isOther), () => false);
}

function facts({ id, created_at: created, last_sign_in_at: last }, done) {
  const known = [`Id ${id}`, created && `created ${moment(created)}`, last ? `last sign-in ${moment(last)}` : "no sign-in recorded"];
  const record = el("a", { href: `#/audit?user_id=${id}`, onclick: done }, "What happened");
  return el("p", { class: "muted" }, known.filter(Boolean).join(", "), ". ", record);
}

function ownSignInPart(done) {
  const own = el("a", { href: "#/account", onclick: done }, "Your password and your sessions");
  return { title: "Sign-in", content: el("p", {}, own) };
}

function keysPart({ user, path }) {
  const keys = keyList(`${path}/keys`);
  const none = el("p", { class: "muted" }, "Only admins themselves create their API keys.");
  const create = user.role === "admin" ? none : newKey(keys, `${path}/keys`);
  return { title: "API keys", content: [keys.element, create], load: keys.load };
}
