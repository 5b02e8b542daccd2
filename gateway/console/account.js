// The account of the signed-in user.

import { call, explain, refresh } from "./api.js";
import { ownAudit } from "./audit.js";
import { el, field, fill } from "./dom.js";
import { form } from "./form.js";
import { keyList, newKey } from "./keys.js";
import { newPassword } from "./new_password.js";
import { secondStep } from "./second_step.js";
import { session } from "./session.js";
import { sessionList } from "./sessions.js";
import { failure } from "./states.js";
import { moment } from "./times.js";

export function accountView() {
  const facts = el("dl", {});
  const trouble = el("div", {});
  const show = () => {
    const { username, role, id, expires } = session.user;
    const until = expires && moment(expires);
    const rows = Object.entries({ Name: username, Role: role, Id: id, "Signed in until at most": until });
    fill(facts, rows.filter(([, value]) => value).map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))));
  };
  async function load() {
    show();
    keys.load();
    step.load();
    sessions.load();
    audit.load();
    try {
      await refresh();
      fill(trouble);
    } catch (error) {
      if (error.status !== 401) fill(trouble, failure(explain(error), load));
    }
    show();
  }
  const keys = keyList("/profile/keys");
  const step = secondStep();
  const sessions = sessionList("/profile/sessions");
  const audit = ownAudit();
  const heading = el("h1", { tabindex: "-1" }, "Account");
  const content = [
    trouble,
    card("You", facts),
    card("Password", password(sessions.load)),
    card("Second step", step.element),
    card("Sessions", el("small", {}, "Where you are signed in. The tabs of a browser share a session."), sessions.element),
    card("Where you signed in", el("small", {}, "And what else happened to your account."), audit.element),
    card("API keys", el("small", {}, "For programs that act as you."), keys.element, newKey(keys)),
  ];
  return { element: el("div", { class: "view" }, el("div", { class: "bar" }, heading), el("div", { class: "cards", tabindex: "0", role: "group", "aria-label": "Account" }, content)), load };
}

function card(title, ...content) {
  return el("section", {}, el("h2", {}, title), content);
}

/** `changed` runs when other sessions have ended. */
function password(changed) {
  // Password managers save the new password for this name.
  const savedName = el("input", { name: "username", autocomplete: "username", hidden: true });
  const current = el("input", { name: "current", type: "password", autocomplete: "current-password", required: true });
  return form({
    name: "Change password",
    fields: [
      savedName,
      el("small", {}, "Ends every access token, and every session but this one."),
      field("Current password", current),
      newPassword("New password"),
    ],
    submit: "Change password",
    act: async ({ elements }) => {
      savedName.value = session.user.username;
      const body = { current_password: current.value, new_password: elements.password.value };
      const { message } = await call("PUT", "/profile/password", { body });
      current.value = "";
      changed();
      return message;
    },
  }).element;
}
