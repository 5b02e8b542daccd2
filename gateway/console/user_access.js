// Disables and enables a user, and sets the end of the account.

import { call } from "./api.js";
import { ask } from "./dialog.js";
import { el } from "./dom.js";
import { endField } from "./end_field.js";
import { action, form } from "./form.js";
import { moment } from "./times.js";

/** `changed(user)` shows what is stored. */
export function access(user, path, isSelf, changed) {
  const show = () => (trigger.textContent = user.disabled ? "Enable" : "Disable");
  /** Returns the stored state, which includes that an account has ended. */
  const update = async (body) => {
    const { disabled } = await call("PATCH", path, { body });
    changed({ ...body, disabled });
    show();
    return disabled;
  };
  const { element, trigger } = action({
    explanation: "A disabled user keeps the name and the posts, but cannot sign in or use any API key or token.",
    act: async () => {
      if (isSelf && !(await ask("You are about to disable yourself. This session ends, and only another admin can enable you again.", "Disable"))) return;
      const wanted = !user.disabled;
      const disabled = await update({ disabled: wanted });
      if (disabled !== wanted) return `${user.username} stays disabled, because the account has ended.`;
      return `${user.username} is now ${disabled ? "disabled" : "enabled"}.`;
    },
  });
  show();
  return [element, endForm(user, isSelf, update)];
}

function endForm(user, isSelf, update) {
  const end = endField(user.until);
  return form({
    name: "End of the account",
    fields: [el("p", {}, "When the account has ended, the user is treated as disabled."), end.element],
    submit: "Set end",
    act: async () => {
      const until = end.value;
      if (isSelf && until && !(await ask("You are about to set an end of your own account. After it, only another admin can let you in again.", "Set end"))) return;
      await update({ until });
      return until ? `The account ends on ${moment(until)}.` : "The account has no end.";
    },
  }).element;
}
