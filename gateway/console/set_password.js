// The page where a password link leads. Its token is in the fragment, which browsers send to no server.

import { call } from "./api.js";
import { el, fill } from "./dom.js";
import { form, outcome } from "./form.js";
import { newPassword } from "./new_password.js";

const token = location.hash.slice(1);
// First of all: what is in the address stays in the history of the browser.
history.replaceState(null, "", location.pathname);
// Another link was opened in this tab.
addEventListener("hashchange", () => location.hash && location.reload());

const content = document.getElementById("content");
const message = outcome(document.getElementById("message"));

const { element } = form({
  name: "Choose a password",
  fields: [newPassword("New password"), el("small", {}, "The link is good once, for 24 hours.")],
  submit: "Set password",
  act: async ({ elements }) => {
    await call("PUT", "/password", { body: { token, password: elements.password.value } });
    const link = el("a", { class: "button primary", href: "/sign-in" }, "Sign in");
    fill(content, link);
    message.good("Your password is set.");
    link.focus();
  },
});
if (token) {
  fill(content, element);
  element.elements.password.focus();
} else {
  fill(content);
  message.error("The link is not complete. Open it again, or ask for a new one.");
}
