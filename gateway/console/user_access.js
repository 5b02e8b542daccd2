// The part of the dialog that disables and enables a user, and sets the end of the account.

import { call, refresh } from "./api.js";
import { ask } from "./dialog.js";
import { el } from "./dom.js";
import { endField } from "./end_field.js";
import { action, form } from "./form.js";
import { moment } from "./times.js";
import { notifyChange, stored } from "./user_undo.js";

export function accessPart(context) {
  const { path, changed } = context;
  /** Returns the stored state, which includes that an account has ended. */
  const update = async (body) => {
    const { disabled } = await call("PATCH", path, { body });
    changed({ ...body, disabled });
    return disabled;
  };
  return { title: "Access", content: [disabling(context, update), endForm(context, update)] };
}

function disabling({ user, isSelf, changed, done, reload }, update) {
  const name = user.username;
  const text = (disabled) => `${name} is now ${disabled ? "disabled" : "enabled"}.`;
  const { element, trigger } = action({
    text: user.disabled ? "Enable" : "Disable",
    explanation: "A disabled user keeps the name and the posts, but cannot sign in or use any API key or token.",
    act: async () => {
      if (isSelf && !(await ask("You are about to disable yourself. This session ends, and only another admin can enable you again.", "Disable"))) return;
      const wanted = !user.disabled;
      // Another admin may have made the change since the list was read.
      if ((await stored(user.id)).disabled === wanted) {
        changed({ disabled: wanted });
        return `${name} is already ${wanted ? "disabled" : "enabled"}.`;
      }
      const disabled = await update({ disabled: wanted });
      if (disabled !== wanted) return `${name} stays disabled, because the account has ended.`;
      done();
      // The session has ended, and the page says so.
      if (isSelf) return void (await refresh().catch(() => {}));
      const undo = async () => text(await update({ disabled: !wanted }));
      notifyChange(user, { text: text(disabled), what: "the state", isStill: (now) => now.disabled === wanted, undo, reload });
    },
  });
  trigger.classList.add("primary");
  return element;
}

function endForm({ user, isSelf, done, reload }, update) {
  const end = endField(user.until);
  const text = (until) => `The account of ${user.username} ${until ? `ends on ${moment(until)}` : "has no end"}.`;
  const time = (until) => until && Date.parse(until);
  return form({
    name: "End of the account",
    fields: [el("p", {}, "When the account has ended, the user is treated as disabled."), end.element],
    submit: "Set end",
    isSecondary: true,
    act: async () => {
      const until = end.value;
      if (isSelf && until && !(await ask("You are about to set an end of your own account. After it, only another admin can let you in again.", "Set end"))) return;
      const before = (await stored(user.id)).until ?? null;
      await update({ until });
      done();
      const undo = async () => {
        await update({ until: before });
        return text(before);
      };
      notifyChange(user, { text: text(until), what: "the end of the account", isStill: (now) => time(now.until) === time(until), undo, reload });
    },
  }).element;
}
