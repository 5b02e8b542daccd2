// The pane "Requests": what the console has asked the API, and the same as curl lines.

import { log } from "./api.js";
import { copyButton } from "./copy.js";
import { curl } from "./curl.js";
import { button, el, fill } from "./dom.js";
import { session } from "./session.js";

const MAX_ENTRIES = 100;
const WIDE = matchMedia("(min-width: 60rem)");

export function startRequests(pane) {
  const list = el("ol", {});
  const last = el("span", { class: "last" });
  const toggle = button("Requests", { class: "toggle", "aria-controls": "request-list" }, () => open(pane.classList.contains("closed")));
  const open = (isOpen) => {
    toggle.setAttribute("aria-expanded", isOpen);
    pane.classList.toggle("closed", !isOpen);
  };
  const clear = button("Clear", { class: "quiet small" }, () => fill(list));
  const token = copyButton("Copy token", () => session.user?.token ?? "");
  const hint = el("p", { class: "muted" }, "What this page asks the API. ", el("code", {}, "$TOKEN"), " in the lines is the token of your session.");
  const content = el("div", { id: "request-list", tabindex: "0", role: "group", "aria-label": "Requests so far" });
  content.append(hint, el("p", { class: "actions" }, token, clear), list);
  pane.append(el("h2", {}, toggle, last), content);
  open(WIDE.matches);
  WIDE.addEventListener("change", () => open(WIDE.matches));
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
  const text = curl(entry);
  return el("div", { class: "curl" }, el("code", {}, text), copyButton("Copy", () => text));
}
