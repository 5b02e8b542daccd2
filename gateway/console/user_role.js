// The part of the dialog that changes the role of a user.

import { call, refresh } from "./api.js";
import { ask } from "./dialog.js";
import { el, field } from "./dom.js";
import { form } from "./form.js";
import { roleOptions } from "./roles.js";
import { notifyChange } from "./user_undo.js";

export function rolePart({ user, path, isSelf, changed, done, reload }) {
  const role = el("select", { name: "role" }, roleOptions(user.role));
  const put = (wanted) => call("PUT", `${path}/role`, { body: { role: wanted } });
  const text = (stored) => `${user.username} now has the role ${stored}.`;
  const { element } = form({
    name: "Role",
    fields: [field("Role", role)],
    submit: "Change role",
    act: async () => {
      const wanted = role.value;
      const before = await stored();
      if (before !== user.role) changed({ role: before });
      if (wanted === before) return `${user.username} already has this role.`;
      const question = doubt(user, isSelf, wanted);
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
      if (isSelf) return void (await refresh());
      const undo = async () => {
        await put(before);
        return text(before);
      };
      notifyChange(user, { text: text(wanted), what: "the role", isStill: (now) => now.role === wanted, undo, reload });
    },
  });
  return { title: "Role", content: element };

  /** Reads the role: another admin may have changed it since the list was read. */
  async function stored() {
    try {
      return (await call("GET", path)).role;
    } catch (error) {
      role.value = user.role;
      throw error;
    }
  }
}

/** The question before a change of one's own role, or of who is an admin. */
function doubt(user, isSelf, wanted) {
  if (isSelf) return "You are about to give up the role admin. Only another admin can give it back to you.";
  if (wanted === "admin") return `Admins can do everything here. Make ${user.username} an admin?`;
  if (user.role === "admin") return `${user.username} will no longer be an admin.`;
  return undefined;
}
