// Starts the console for admins, and shows the view that the address names.

import { accountView } from "./account.js";
import { auditView } from "./audit.js";
import { el, fill } from "./dom.js";
import { groupsView } from "./groups.js";
import { app, forget, leave, main, startPage } from "./page.js";
import { postsView } from "./posts.js";
import { startRequests } from "./requests.js";
import { session } from "./session.js";
import { usersView } from "./users.js";

const VIEWS = {
  users: { title: "Users", make: usersView },
  groups: { title: "Groups", make: groupsView },
  posts: { title: "Posts", make: postsView },
  audit: { title: "Audit", make: auditView },
  account: { title: "Account", make: accountView },
};

/** The views that were shown. They keep what was typed. */
const views = {};

/** Reads the address: `#/posts/12?…` is `["posts", 12]`. */
function route() {
  const [, name, id] = location.hash.split("?")[0].split("/");
  return [Object.hasOwn(VIEWS, name) ? name : "users", Number(id) || undefined];
}

function show() {
  if (session.user.role !== "admin") return leave("/account");
  const [name, id] = route();
  document.title = `${VIEWS[name].title} · Rolegate`;
  const link = ([key, view]) => el("a", { href: `#/${key}`, "aria-current": key === name && "page" }, view.title);
  fill(app.querySelector("nav"), Object.entries(VIEWS).map(link));
  const view = (views[name] ??= VIEWS[name].make());
  if (view.element.parentElement !== main) fill(main, view.element);
  view.load(id);
}

addEventListener("hashchange", () => {
  if (!session.user || (location.hash && !location.hash.startsWith("#/"))) return;
  forget();
  // Open dialogs belong to the previous view.
  app.querySelectorAll("dialog").forEach((dialog) => dialog.close());
  show();
  main.querySelector("h1")?.focus();
});

startRequests(document.getElementById("requests"));
startPage({ show, signedOut: "/sign-in?return=/console/" });
