// The part of the dialog about how a user signs in: link, password, second factor and sessions.

import { call } from "./api.js";
import { ask } from "./dialog.js";
import { el, fill } from "./dom.js";
import { action, form, outcome } from "./form.js";
import { newPassword } from "./new_password.js";
import { makeLink } from "./password_link.js";
import { sessionList } from "./sessions.js";

export function signInPart(context) {
  const sessions = sessionList(`${context.path}/sessions`);
  const content = [
    section("Password link", context.user.has_password === false && el("p", {}, "The user has no password yet."), makeLink(context)),
    section("Password", passwordForm(context, sessions.load)),
    secondFactor(context),
    section("Sessions", sessions.element, endTokens(context, sessions.load)),
  ];
  return { title: "Sign-in", content, load: sessions.load };
}

function section(title, ...content) {
  return el("section", {}, el("h4", {}, title), content);
}

function passwordForm({ user, path, changed }, ended) {
  return form({
    name: "Set password",
    fields: newPassword("New password"),
    submit: "Set password",
    isSecondary: true,
    act: async ({ elements }) => {
      if (!(await ask(`Set the password of ${user.username}? All sessions and access tokens of this user end.`, "Set password"))) return;
      const { message } = await call("PUT", `${path}/password`, { body: { password: elements.password.value } });
      changed({ has_password: true });
      ended();
      return `${message} Sessions and access tokens have ended.`;
    },
  }).element;
}

/** Offers to remove the second factor, unless it is known that there is none. */
function secondFactor({ user, path, changed }) {
  const element = el("section", { tabindex: "-1" });
  const message = outcome();
  const { element: removal } = action({
    text: "Remove second factor",
    explanation: "For users who have lost their phone and their recovery codes. They can then sign in with the password alone.",
    act: async () => {
      if (!(await ask(`Remove the second factor of ${user.username}? Only the user can turn it on again.`, "Remove"))) return;
      await call("DELETE", `${path}/second-factor`);
      changed({ second_factor: false });
      show();
      element.focus();
      message.good(`The second factor of ${user.username} was removed.`);
    },
  });
  const show = () => {
    const isOff = user.second_factor === false;
    fill(element, el("h4", {}, "Second factor"), isOff ? el("p", { class: "muted" }, "No second factor is on.") : removal, message.place);
  };
  show();
  return element;
}

function endTokens({ user, path }, ended) {
  return action({
    text: "End all tokens",
    explanation: "Ends all sessions and all access tokens, which are not listed here. API keys keep working.",
    act: async () => {
      if (!(await ask(`End all sessions and access tokens of ${user.username}?`, "End all"))) return;
      const { message } = await call("DELETE", `${path}/tokens`);
      ended();
      return message;
    },
  }).element;
}
