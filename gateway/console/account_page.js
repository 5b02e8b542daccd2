// Starts the account page, on which all users manage their own account.

import { accountView } from "./account.js";
import { fill } from "./dom.js";
import { app, main, startPage } from "./page.js";
import { session } from "./session.js";

const CONSOLE = "/console/";
const TIMEOUT = 10_000;
const nav = app.querySelector("nav");
let view;

function show() {
  view ??= accountView();
  if (view.element.parentElement !== main) fill(main, view.element);
  view.load();
  showConsole();
}

/** Shows admins a link to the console if it is served: `CONSOLE=off` removes it, and a proxy may not pass it on. */
async function showConsole() {
  const isAdmin = () => session.user.role === "admin";
  const hasConsole = isAdmin() && (await isServed(CONSOLE));
  nav.hidden = !(hasConsole && isAdmin());
}

async function isServed(path) {
  try {
    const response = await fetch(path, { method: "HEAD", redirect: "error", signal: AbortSignal.timeout(TIMEOUT) });
    return response.ok;
  } catch {
    return false;
  }
}

startPage({ show, signedOut: "/sign-in?return=/account" });
