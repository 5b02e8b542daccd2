// The Requests pane, which lists the API calls of the console, also as commands for curl.

import { log } from "./api.js";
import { copyButton } from "./copy.js";
import { curl, signInLine } from "./curl.js";
import { button, el, fill } from "./dom.js";
import { session } from "./session.js";

const MAX_ENTRIES = 100;

export function startRequests(pane) {
  const list = el("ol", {});
  const last = el("span", { class: "last" });
  const toggle = button("Requests", { class: "toggle", "aria-controls": "request-list" }, () => open(pane.classList.contains("closed")));
  const open = (isOpen) => {
    toggle.setAttribute("aria-expanded", isOpen);
    pane.classList.toggle("closed", !isOpen);
  };
  const clear = button("Clear", { class: "quiet small" }, () => fill(list));
  const hint = el("p", { class: "muted" }, "The API requests of this page, also as commands for curl. They take a credential from ", el("code", {}, "$TOKEN"), ": an API key, or the token of a session. In bash or zsh, this line asks for your password and creates one:");
  const login = el("div", { class: "curl" });
  const content = el("div", { id: "request-list", tabindex: "0", role: "group", "aria-label": "Requests so far" });
  content.append(hint, login, el("p", { class: "actions" }, clear), list);
  pane.append(el("h2", {}, toggle, last), content);
  open(false);
  session.addEventListener("start", () => fill(login, lineToCopy(signInLine(session.user.username))));
  log.addEventListener("request", ({ detail: entry }) => {
    const item = el("li", {});
    list.prepend(item);
    if (list.childElementCount > MAX_ENTRIES) list.lastElementChild.remove();
    const summary = el("summary", {}, line(entry, "…"));
    item.append(el("details", {}, summary, command(entry)));
    entry.done = () => {
      if (entry.isAborted) return item.remove();
      for (const place of [summary, last]) fill(place, line(entry, entry.status || "failed"));
    };
  });
}

function line({ method, path, status, milliseconds }, shown) {
  const kind = shown === "…" ? "" : status < 200 || status >= 500 ? "failed" : status < 400 ? "good" : "refused";
  const time = milliseconds === undefined ? "" : `${Math.round(milliseconds)} ms`;
  return [
    el("span", { class: "method" }, method),
    el("span", { class: "path" }, path),
    el("span", { class: `status ${kind}` }, shown),
    el("span", { class: "time" }, time),
  ];
}

function command(entry) {
  return el("div", { class: "curl" }, lineToCopy(curl(entry)));
}

function lineToCopy(text) {
  return [el("code", {}, text), copyButton("Copy", () => text)];
}
