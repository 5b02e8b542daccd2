// The part of the dialog that renames and deletes a user.

import { call, refresh } from "./api.js";
import { el, field, notify, plainInput } from "./dom.js";
import { errorAt, form } from "./form.js";
import { notifyChange } from "./user_undo.js";

export function namePart(context) {
  if (context.isSelf) return { title: "Name", content: renameForm(context) };
  return { title: "Name and deletion", content: [renameForm(context), deleteForm(context)] };
}

function renameForm({ user, path, isSelf, changed, done, reload }) {
  const name = plainInput({ name: "username", value: user.username, maxlength: 255 });
  const put = (username) => call("PATCH", path, { body: { username } });
  return form({
    name: "Name",
    fields: [
      el("p", {}, "Renaming ends all access tokens. Sessions, API keys and posts stay. Applications may still know the user by the old name."),
      field("Username", name),
    ],
    submit: "Rename",
    act: async () => {
      const before = user.username;
      const { username } = await put(name.value);
      if (username === before) return `The name is already ${username}.`;
      changed({ username });
      done();
      if (isSelf) return void (await refresh());
      const undo = async () => {
        await put(before);
        return `${username} was renamed to ${before}.`;
      };
      notifyChange(user, { text: `${before} was renamed to ${username}.`, what: "the name", isStill: (now) => now.username === username, undo, reload });
    },
  }).element;
}

function deleteForm({ user, path, done, removed }) {
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
