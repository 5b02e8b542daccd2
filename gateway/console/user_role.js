// The form that changes the role of a user, with Undo.

import { call, explain, refresh } from "./api.js";
import { ask } from "./dialog.js";
import { el, field, notify } from "./dom.js";
import { form } from "./form.js";
import { roleOptions } from "./roles.js";
import { session } from "./session.js";

/** `changed(user)` shows what is stored, `done()` closes the dialog, and `reload()` reads the list again. */
export function roleForm(user, path, { changed, done, reload }) {
  const role = el("select", { name: "role" }, roleOptions(user.role));
  const put = (wanted) => call("PUT", `${path}/role`, { body: { role: wanted } });
  return form({
    name: "Role",
    fields: [field("Role", role)],
    submit: "Change role",
    act: async () => {
      const wanted = role.value;
      const before = await stored();
      if (before !== user.role) changed({ role: before });
      if (wanted === before) return `${user.username} already has this role.`;
      const question = doubt(user, wanted);
      if (question && !(await ask(question, `Make ${wanted}`))) return void (role.value = before);
      try {
        await put(wanted);
      } catch (error) {
        // The change may have been made, so the list shows the stored role.
        if (error.isUncertain) await call("GET", path).then(changed, () => {});
        role.value = user.role;
        throw error;
      }
      changed({ role: wanted });
      done();
      const isSelf = user.id === session.user.id;
      if (isSelf) await refresh();
      else notify(`${user.username} now has the role ${wanted}.`, () => undo(before, wanted));
    },
  }).element;

  /** Reads the role: another admin may have changed it since the list was read. */
  async function stored() {
    try {
      return (await call("GET", path)).role;
    } catch (error) {
      role.value = user.role;
      throw error;
    }
  }

  /** Restores the role, unless another admin has changed it since. */
  async function undo(before, wanted) {
    try {
      const now = await stored();
      if (now !== wanted) return notify(`Not undone: the role of ${user.username} has since been changed to ${now}.`);
      await put(before);
      notify(`${user.username} now has the role ${before}.`);
    } catch (error) {
      notify(`Not undone: ${explain(error, true)}`);
    } finally {
      reload();
    }
  }
}

/** The question before a change of one's own role, or of who is an admin. */
function doubt(user, wanted) {
  if (user.id === session.user.id) return "You are about to give up the role admin. Only another admin can give it back to you.";
  if (wanted === "admin") return `Admins can do everything here. Make ${user.username} an admin?`;
  if (user.role === "admin") return `${user.username} will no longer be an admin.`;
  return undefined;
}
