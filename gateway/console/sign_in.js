// The sign-in form. When a session ends, it comes over the page, which keeps what was typed.

import { explain, signIn } from "./api.js";
import { outcome, run } from "./form.js";
import { session } from "./session.js";

export function startSignIn() {
  const dialog = document.getElementById("sign-in");
  const form = dialog.querySelector("form");
  const { username, password } = form.elements;
  const message = outcome(form.querySelector(".message"));

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(form.querySelector("button"), message, async () => {
      try {
        await signIn(username.value, password.value);
      } catch (error) {
        // A failed login changes nothing, whatever the reason is.
        message.error(explain(error));
        password.select();
        return;
      }
      password.value = "";
      dialog.close();
    });
  });
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  // Some browsers close a dialog at the second Escape all the same.
  dialog.addEventListener("close", () => session.user?.token || ask());

  const ask = (reason) => {
    document.documentElement.classList.remove("signed-in");
    if (!dialog.matches(":modal")) {
      dialog.close();
      dialog.showModal();
    }
    if (reason) message.note(reason);
    if (session.user) username.value = session.user.username;
    (username.value ? password : username).focus();
  };
  session.addEventListener("end", ({ detail }) => ask(`${detail.reason} Sign in again; what you typed is kept.`));
  session.addEventListener("out", ({ detail }) => {
    password.value = "";
    ask(detail.reason);
  });
  if (session.user) dialog.close();
  else ask();
}
