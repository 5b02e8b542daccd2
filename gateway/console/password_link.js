// Links at which users choose their passwords.

import { call } from "./api.js";
import { copyOnce } from "./copy.js";
import { ask } from "./dialog.js";
import { el, fill } from "./dom.js";
import { action } from "./form.js";
import { moment } from "./times.js";

/** Shows the link of a response, which the API gives once. `url` may be a path of this service. */
export function linkOnce({ url, expires_at: end }) {
  const whole = new URL(url, location.origin).href;
  const note = `Works once, until ${moment(end)}. Send it where nobody else can read it: whoever uses it first chooses the password.`;
  return [copyOnce("Password link", whole), el("small", {}, note)];
}

/** A button that makes a link for the user. */
export function makeLink({ user, path }) {
  const place = el("div", {});
  const { element, trigger } = action({
    text: "Make a password link",
    explanation: "Lets the user choose a password within 24 hours. Earlier links stop working.",
    act: async () => {
      if (!(await ask(`Make a password link for ${user.username}? Earlier links stop working.`, "Make a link"))) return;
      fill(place, linkOnce(await call("POST", `${path}/password-link`)));
      place.querySelector("input").focus();
    },
  });
  trigger.classList.add("primary");
  return [element, place];
}
