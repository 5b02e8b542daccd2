// Starts the console: which view is shown follows the address, the session and the role.

import { explain, refresh, signOut } from "./api.js";
import { accountView } from "./account.js";
import { auditView } from "./audit.js";
import { el, fill, notify } from "./dom.js";
import { startEnded } from "./ended.js";
import { postsView } from "./posts.js";
import { startRequests } from "./requests.js";
import { session, signInAddress } from "./session.js";
import { failure, loading, nothing } from "./states.js";
import { usersView } from "./users.js";

const VIEWS = {
  users: { title: "Users", make: usersView, role: "admin" },
  posts: { title: "Posts", make: postsView },
  audit: { title: "Audit", make: auditView, role: "admin" },
  account: { title: "Account", make: accountView },
};
const isAllowed = (view) => !view.role || view.role === session.user.role;

/** After this time out of sight, the page asks who is signed in, and for the role. */
const AWAY = 30_000;

const app = document.getElementById("app");
const main = document.getElementById("main");
/** Views that were shown keep what was typed. */
let views = {};

/** `#/posts/12?…` is `["posts", 12]`. */
function route() {
  const [, name, id] = location.hash.split("?")[0].split("/");
  const first = isAllowed(VIEWS.users) ? "users" : "account";
  return [Object.hasOwn(VIEWS, name) ? name : first, Number(id) || undefined];
}

function show() {
  const { user } = session;
  if (!user) return;
  const [name, id] = route();
  const wanted = VIEWS[name];
  document.title = `${wanted.title} · Rolegate`;
  fill(app.querySelector(".who"), el("span", {}, user.username), el("span", { class: "chip" }, user.role));
  const link = ([key, view]) => isAllowed(view) && el("a", { href: `#/${key}`, "aria-current": key === name && "page" }, view.title);
  fill(app.querySelector("nav"), Object.entries(VIEWS).map(link));
  if (!isAllowed(wanted)) return fill(main, refused(wanted.title, user.role));
  const view = (views[name] ??= wanted.make());
  if (view.element.parentElement !== main) fill(main, view.element);
  view.load(id);
}

function refused(title, role) {
  const text = `Your role is ${role}; this page is for admins.`;
  return el("div", { class: "view" }, el("h1", { tabindex: "-1" }, title), nothing(text));
}

/** Secrets are shown once, until another view is shown or the session ends. */
function forget() {
  app.querySelectorAll(".once").forEach((secret) => secret.remove());
}

/** For another user, or none: nothing stays that was seen or typed. */
function leave(address) {
  document.body.replaceChildren();
  location.replace(address);
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

session.addEventListener("start", () => {
  leaving.hidden = false;
  show();
});
session.addEventListener("end", forget);
session.addEventListener("other", () => {
  document.body.replaceChildren();
  history.replaceState(null, "", location.pathname);
  location.reload();
});
session.addEventListener("role", () => {
  notify(`Your role is now ${session.user.role}.`);
  show();
});
addEventListener("hashchange", () => {
  if (!session.user || (location.hash && !location.hash.startsWith("#/"))) return;
  forget();
  // Dialogs belong to the page before.
  app.querySelectorAll("dialog").forEach((dialog) => dialog.close());
  show();
  main.querySelector("h1")?.focus();
});
// As the link does, without another address, which says the view.
app.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
const leaving = app.querySelector("#sign-out");
leaving.addEventListener("click", async () => {
  leaving.setAttribute("aria-busy", "true");
  try {
    await signOut();
    leave("/sign-in");
  } catch (error) {
    notify(`You are still signed in: ${explain(error)}`);
    leaving.removeAttribute("aria-busy");
  }
});

let left = Date.now();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) left = Date.now();
  else if (session.user && !session.isOver && Date.now() - left > AWAY) refresh().catch(() => {});
});
// After Back the browser may show the page as it was, of a session that has ended.
addEventListener("pageshow", (event) => event.persisted && location.reload());

startRequests(document.getElementById("requests"));
startEnded();
start();
