// Starts the console: which view is shown follows the address, the session and the role.

import { call, explain, refreshRole } from "./api.js";
import { accountView } from "./account.js";
import { el, fill, notify } from "./dom.js";
import { postsView } from "./posts.js";
import { startRequests } from "./requests.js";
import { session } from "./session.js";
import { startSignIn } from "./sign_in.js";
import { nothing } from "./states.js";
import { usersView } from "./users.js";

const VIEWS = {
  users: { title: "Users", make: usersView, role: "admin" },
  posts: { title: "Posts", make: postsView },
  account: { title: "Account", make: accountView },
};
const isAllowed = (view) => !view.role || view.role === session.user.role;

/** After this time out of sight, the page asks for its role again. */
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

/** Forgets what the user before has seen and typed. */
function restart() {
  views = {};
  fill(main);
  fill(app.querySelector("#requests ol"));
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
session.addEventListener("end", forget);
session.addEventListener("role", () => {
  notify(`Your role is now ${session.user.role}.`);
  show();
});
addEventListener("hashchange", () => {
  if (!session.user || (location.hash && !location.hash.startsWith("#/"))) return;
  forget();
  show();
  main.querySelector("h1")?.focus();
});
app.querySelector("#sign-out").addEventListener("click", async () => {
  const logout = call("POST", "/logout");
  // Without waiting for the answer
  session.signOut("Signing out…");
  const where = await logout.then(
    () => ".",
    (error) => error.status === 401 ? "." : ` here only: ${explain(error)}`,
  );
  if (!session.user) session.signOut(`You are signed out${where}`);
});

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
