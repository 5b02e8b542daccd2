// The account view, where users see and change what is theirs.

import { call, explain, refresh } from "./api.js";
import { el, field, fill } from "./dom.js";
import { form } from "./form.js";
import { keyList, newKey } from "./keys.js";
import { newPassword } from "./new_password.js";
import { ownAudit } from "./own_audit.js";
import { secondStep } from "./second_step.js";
import { session } from "./session.js";
import { sessionList } from "./sessions.js";
import { failure } from "./states.js";
import { say } from "./texts.js";
import { moment } from "./times.js";

export function accountView() {
  const facts = el("dl", {});
  const trouble = el("div", {});
  const show = () => {
    const { username, role, id, expires } = session.user;
    const until = expires && moment(expires);
    const rows = [[say("account.name"), username], [say("account.role"), role], [say("account.id"), id], [say("account.until"), until]];
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
  const othersEnded = () => Promise.all([sessions.load(), audit.load()]);
  const step = secondStep(othersEnded);
  const sessions = sessionList("/profile/sessions");
  const audit = ownAudit();
  const heading = el("h1", { tabindex: "-1" }, say("account.title"));
  const content = [
    trouble,
    card(say("account.you"), facts),
    card(say("account.password"), password(othersEnded)),
    card(say("second_step.title"), step.element),
    card(say("sessions.title"), el("small", {}, say("account.sessions_hint")), sessions.element),
    card(say("audit.own"), el("small", {}, say("account.audit_hint")), audit.element),
    card(say("keys.title"), el("small", {}, say("account.keys_hint")), keys.element, newKey(keys)),
  ];
  return { element: el("div", { class: "view" }, el("div", { class: "bar" }, heading), el("div", { class: "cards", tabindex: "0", role: "group", "aria-label": say("account.title") }, content)), load };
}

function card(title, ...content) {
  return el("section", {}, el("h2", {}, title), content);
}

/** Changes the password. That ends all other sessions, so `othersEnded` runs afterwards. */
function password(othersEnded) {
  // Password managers save the new password for this name.
  const savedName = el("input", { name: "username", autocomplete: "username", hidden: true });
  const current = el("input", { name: "current", type: "password", autocomplete: "current-password", required: true });
  return form({
    name: say("password.change"),
    fields: [
      savedName,
      el("small", {}, say("password.change_hint")),
      field(say("password.current"), current),
      newPassword(say("password.new")),
    ],
    submit: say("password.change"),
    act: async ({ elements }) => {
      savedName.value = session.user.username;
      const body = { current_password: current.value, new_password: elements.password.value };
      await call("PUT", "/profile/password", { body });
      current.value = "";
      othersEnded();
      return say("password.changed");
    },
  }).element;
}
