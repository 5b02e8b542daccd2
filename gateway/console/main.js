// Starts the console: which view is shown follows the address, the session and the role.

import { refreshRole } from "./api.js";
import { accountView } from "./account.js";
import { el, fill, notify } from "./dom.js";
import { postsView } from "./posts.js";
import { startRequests } from "./requests.js";
import { session } from "./session.js";
import { startSignIn } from "./sign_in.js";
import { nothing } from "./states.js";
import { usersView } from "./users.js";

const VIEWS = {
  users: { title: "Users", make: usersView, isFor: (role) => role === "admin" },
  posts: { title: "Posts", make: postsView, isFor: () => true },
  account: { title: "Account", make: accountView, isFor: () => true },
};

/** After this time without a look at the page, it asks whether role and session are still the same. */
const AWAY = 30_000;

const app = document.getElementById("app");
const main = document.getElementById("main");
const nav = app.querySelector("nav");
/** Views that were shown keep what was typed. */
let views = {};

/** `#/posts/12?…` is `["posts", 12]`. */
function route() {
  const [, name, id] = location.hash.split("?")[0].split("/");
  const first = VIEWS.users.isFor(session.user.role) ? "users" : "account";
  return [name in VIEWS ? name : first, Number(id) || undefined];
}

function show() {
  const { user } = session;
  if (!user) return;
  const [name, id] = route();
  const { title, make, isFor } = VIEWS[name];
  document.title = `${title} · Rolegate`;
  fill(app.querySelector(".who"), el("span", {}, user.username), el("span", { class: "chip" }, user.role));
  const visible = Object.entries(VIEWS).filter(([, view]) => view.isFor(user.role));
  const link = ([key, view]) => el("a", { href: `#/${key}`, "aria-current": key === name && "page" }, view.title);
  fill(nav, visible.map(link));
  if (!isFor(user.role)) return fill(main, refused(title, user.role));
  const view = (views[name] ??= make());
  if (view.element.parentElement !== main) fill(main, view.element);
  view.load(id);
}

function refused(title, role) {
  const text = `Insufficient privileges. Your role is ${role}; this page is for admins.`;
  return el("div", { class: "view" }, el("div", { class: "bar" }, el("h1", { tabindex: "-1" }, title)), nothing(text));
}

function restart() {
  views = {};
  fill(main);
  app.querySelectorAll("dialog").forEach((dialog) => dialog.remove());
  history.replaceState(null, "", location.pathname);
}

session.addEventListener("start", ({ detail }) => {
  if (detail.isOther) restart();
  app.hidden = false;
  show();
});
session.addEventListener("out", () => {
  restart();
  app.hidden = true;
  document.title = "Sign in · Rolegate";
});
session.addEventListener("role", () => {
  notify(`Your role is now ${session.user.role}.`);
  show();
});
addEventListener("hashchange", () => {
  // Another hash is a jump within the page.
  if (!session.user || (location.hash && !location.hash.startsWith("#/"))) return;
  show();
  main.querySelector("h1")?.focus();
});
app.querySelector("#sign-out").addEventListener("click", () => session.signOut());

let left = Date.now();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) left = Date.now();
  else if (session.user?.token && Date.now() - left > AWAY) refreshRole().catch(() => {});
});

startRequests(document.getElementById("requests"));
startSignIn();
if (session.user) {
  app.hidden = false;
  show();
  if (route()[0] !== "account") refreshRole().catch(() => {});
}
