// Used by the console and the account page: follows the session and the role, and signs out.

import { explain, refresh, signOut } from "./api.js";
import { el, fill, notify } from "./dom.js";
import { startEnded } from "./ended.js";
import { session, signInAddress } from "./session.js";
import { failure, loading } from "./states.js";
import { say } from "./texts.js";

/** A page that was hidden for longer, in milliseconds, asks again who is signed in, and with which role. */
const AWAY = 30_000;

export const app = document.getElementById("app");
export const main = document.getElementById("main");

/** Removes secrets that are shown once, before another view is shown and when the session ends. */
export function forget() {
  app.querySelectorAll(".once").forEach((secret) => secret.remove());
}

/** Goes to another page, and first removes all that was seen or typed. */
export function leave(address) {
  document.body.replaceChildren();
  location.replace(address);
}

/** `show` runs after a sign-in, and when the role has changed. `signedOut` is the page after signing out. */
export function startPage({ show, signedOut }) {
  const leaving = app.querySelector("#sign-out");
  const showAll = () => {
    const { username, role } = session.user;
    fill(app.querySelector(".who"), el("span", {}, username), el("span", { class: "chip" }, role));
    show();
  };
  session.addEventListener("start", () => {
    leaving.hidden = false;
    showAll();
  });
  session.addEventListener("end", forget);
  session.addEventListener("other", () => {
    document.body.replaceChildren();
    history.replaceState(null, "", location.pathname);
    location.reload();
  });
  session.addEventListener("role", () => {
    notify(say("page.role", { role: session.user.role }));
    showAll();
  });
  // Does what the link does, but keeps the address, which names the view.
  app.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  leaving.addEventListener("click", async () => {
    leaving.setAttribute("aria-busy", "true");
    try {
      await signOut();
      leave(signedOut);
    } catch (error) {
      notify(say("page.still", { problem: explain(error) }));
      leaving.removeAttribute("aria-busy");
    }
  });
  let left = Date.now();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) left = Date.now();
    else if (session.user && !session.isOver && Date.now() - left > AWAY) refresh().catch(() => {});
  });
  // After Back, the browser may show the old page of a session that has ended.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  startEnded();
  start();
}

async function start() {
  fill(main, el("div", { class: "view" }, loading()));
  try {
    await refresh();
  } catch (error) {
    if (error.status === 401) return leave(signInAddress());
    fill(main, failure(explain(error), start));
  }
}
