// The log of the API calls of the console, also as commands for curl. It is drawn only while it is open.

import { log } from "./api.js";
import { copyButton } from "./copy.js";
import { curl, signInLine } from "./curl.js";
import { button, el, fill } from "./dom.js";
import { session } from "./session.js";

const MAX_REQUESTS = 100;

export function startRequests(pane) {
  /** The last requests, the newest first. The secrets of their bodies are not kept. */
  let requests = [];
  const list = el("ol", {});
  const toggle = button("Requests", { class: "toggle quiet small disclosure", "aria-expanded": "false" }, () => open(!isOpen()));
  const isOpen = () => list.isConnected;

  function open(isOpen) {
    toggle.setAttribute("aria-expanded", isOpen);
    pane.classList.toggle("open", isOpen);
    for (const request of requests) request.item = isOpen ? draw(request) : undefined;
    fill(list, requests.map(({ item }) => item));
    fill(pane, isOpen ? el("h2", {}, toggle) : toggle, isOpen && content(list, clear));
    toggle.focus();
  }

  function clear() {
    requests = [];
    fill(list);
  }

  log.addEventListener("request", ({ detail: entry }) => {
    const request = { method: entry.method, path: entry.path, command: curl(entry) };
    requests.unshift(request);
    for (const { item } of requests.splice(MAX_REQUESTS)) item?.remove();
    if (isOpen()) list.prepend((request.item = draw(request)));
    entry.done = () => {
      if (entry.isAborted) {
        requests = requests.filter((it) => it !== request);
        return request.item?.remove();
      }
      request.milliseconds = entry.milliseconds;
      request.status = entry.status;
      if (request.item) fill(request.item.querySelector("summary"), line(request));
    };
  });
  pane.append(toggle);
}

function content(list, clear) {
  const hint = el("p", { class: "muted" }, "The API requests of this page, also as commands for curl. They take a credential from ", el("code", {}, "$TOKEN"), ": an API key, or the token of a session. In bash or zsh, this line asks for your password and creates one:");
  const login = el("div", { class: "curl" }, lineToCopy(signInLine(session.user.username)));
  const actions = el("p", { class: "actions" }, button("Clear", { class: "quiet small" }, clear));
  return el("div", { id: "request-list", tabindex: "0", role: "group", "aria-label": "Requests so far" }, hint, login, actions, list);
}

function draw(request) {
  const command = el("div", { class: "curl" }, lineToCopy(request.command));
  return el("li", {}, el("details", {}, el("summary", {}, line(request)), command));
}

/** Returns the line of a request, which has no answer yet if `milliseconds` is missing. */
function line({ method, path, status, milliseconds }) {
  const isDone = milliseconds !== undefined;
  const kind = !isDone ? "" : status < 200 || status >= 500 ? "failed" : status < 400 ? "good" : "refused";
  return [
    el("span", { class: "method" }, method),
    el("span", { class: "path" }, path),
    el("span", { class: `status ${kind}` }, isDone ? status || "failed" : "…"),
    el("span", { class: "time" }, isDone && `${Math.round(milliseconds)} ms`),
  ];
}

function lineToCopy(text) {
  return [el("code", {}, text), copyButton("Copy", () => text)];
}
