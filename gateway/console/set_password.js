// The page of a password link. The token is in the fragment, which browsers send to no server.

import { call } from "./api.js";
import { el, field, fill } from "./dom.js";
import { form, outcome } from "./form.js";
import { newPassword } from "./new_password.js";
import { say } from "./texts.js";

const token = location.hash.slice(1);
// Must come first: otherwise, the browser keeps the token in its history.
history.replaceState(null, "", location.pathname);
// Loads another link that is opened in this tab.
addEventListener("hashchange", () => location.hash && location.reload());

const content = document.getElementById("content");
const message = outcome(document.getElementById("message"));

/** Returns the username of the link; `undefined` if it cannot be read now. Throws if the link is dead. */
async function owner() {
  try {
    return (await call("POST", "/password-link", { body: { token } })).username;
  } catch (error) {
    if (error.status === 400) throw error;
    return undefined;
  }
}

/** Password managers save the name with the password. */
function nameField(username) {
  const input = el("input", { name: "username", autocomplete: "username", readonly: true, value: username });
  return field(say("link.username"), input);
}

function choose(username) {
  const link = el("small", {}, say("link.hint"));
  const { element } = form({
    name: say("link.title"),
    fields: [username && nameField(username), newPassword(say("password.new")), link],
    submit: say("link.submit"),
    act: async ({ elements }) => {
      await call("PUT", "/password", { body: { token, password: elements.password.value } });
      const query = username ? `?${new URLSearchParams({ username })}` : "";
      const signIn = el("a", { class: "button primary", href: `/sign-in${query}` }, say("sign_in.submit"));
      fill(content, signIn);
      message.good(say("link.done"));
      signIn.focus();
    },
  });
  fill(content, element);
  element.elements.password.focus();
}

if (token) {
  owner().then(choose, () => {
    fill(content);
    message.error(say("link.dead"));
  });
} else {
  fill(content);
  message.error(say("link.incomplete"));
}
