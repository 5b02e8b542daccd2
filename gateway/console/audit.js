// Shows the record: for admins all entries, with filters, and for all users what happened to them.

import { go, parameters } from "./address.js";
import { call, explain, query } from "./api.js";
import { button, el, fill, plainInput } from "./dom.js";
import { paging } from "./paging.js";
import { failure, loading, nothing } from "./states.js";
import { say, textsOf } from "./texts.js";
import { moment } from "./times.js";
import { typing } from "./typing.js";

const PAGE_SIZE = 25;
const OWN_SIZE = 10;
const TYPING_PAUSE = 400;
const EVENTS = textsOf("event");
/** The titles of refused sign-ins whose password was right, by reason. */
const REFUSALS = { otp_required: say("refusal.otp_required"), wrong_otp: say("refusal.wrong_otp") };
const COLUMNS = { Event: "event", User: "user", By: "actor", From: "from", Time: "when" };

export function auditView() {
  const heading = el("h1", { tabindex: "-1" }, "Audit");
  const rows = el("tbody", {});
  const columns = Object.entries(COLUMNS).map(([text, kind]) => el("th", { scope: "col", class: kind }, text));
  const caption = el("caption", { class: "unseen" }, "Audit entries, newest first");
  const table = el("table", {}, caption, el("thead", {}, el("tr", {}, columns)), rows);
  const list = el("div", { class: "list" });
  const pages = paging("/audit", load);
  const filters = auditFilters((values, isTyping) => {
    if (!list.isConnected) return;
    go("/audit", values, { isReplaced: isTyping });
    load();
  });
  let pending = new AbortController();

  async function load() {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    const wanted = { limit: PAGE_SIZE, ...filters.read(), after: pages.after };
    list.setAttribute("aria-busy", "true");
    if (!rows.isConnected) fill(list, loading());
    try {
      const { entries, next } = await call("GET", query("/audit", wanted), { signal });
      pages.show(entries.length ? `${entries.length} ${entries.length === 1 ? "entry" : "entries"}` : "", next);
      fill(rows, entries.map(row));
      fill(list, entries.length ? table : nothing("No entries match the filters.", button("Clear the filters", {}, filters.clear)));
      list.scrollTop = 0;
    } catch (error) {
      if (signal.aborted) return;
      pages.show("", null);
      fill(list, failure(explain(error), load));
    }
    list.removeAttribute("aria-busy");
  }

  const bar = el("div", { class: "bar" }, heading, filters.element);
  return { element: el("div", { class: "view" }, bar, list, pages.element), load };
}

function auditFilters(changed) {
  const id = (label) => plainInput({ type: "search", inputmode: "numeric", placeholder: label, "aria-label": label, maxlength: 19 });
  const user = id("User id");
  const actor = id("Actor id");
  const options = Object.entries({ "": "All events", ...EVENTS }).map(([value, text]) => el("option", { value }, text));
  const event = el("select", { "aria-label": "Event" }, options);
  const values = () => ({ user_id: user.value.trim(), actor_id: actor.value.trim(), event: event.value });
  const typed = typing([user, actor], TYPING_PAUSE, (isTyping) => changed(values(), isTyping));
  event.addEventListener("change", typed.send);
  return {
    element: el("div", { class: "filters", role: "search" }, user, actor, event),
    /** Takes the values from the address, except an id that is being typed. The API refuses what is no id. */
    read() {
      const given = parameters();
      if (!typed.isPending) [user.value, actor.value] = [given.user_id ?? "", given.actor_id ?? ""];
      event.value = Object.hasOwn(EVENTS, given.event) ? given.event : "";
      return values();
    },
    clear() {
      user.value = actor.value = event.value = "";
      typed.send();
      user.focus();
    },
  };
}

function row(entry) {
  return el(
    "tr",
    {},
    el("td", { class: "event" }, title(entry), el("small", {}, details(entry))),
    el("td", { class: "user" }, person("user_id", entry.user_id, entry.username)),
    el("td", { class: "actor" }, actor(entry)),
    el("td", { class: "from" }, entry.client_address),
    el("td", { class: "when" }, el("time", { datetime: entry.time, title: entry.time }, moment(entry.time))),
  );
}

function title({ event, details: { reason } }) {
  const refusal = event === "login_failed" && REFUSALS[reason];
  return refusal || (EVENTS[event] ?? event);
}

/** Links to the other entries with this user or actor. */
function person(filter, id, name) {
  return id ? el("a", { href: `#/audit?${filter}=${id}` }, name ?? `Id ${id}`) : name;
}

function actor({ actor_id: id, actor: name, actor_key: key, actor_session: session, details: { by } }) {
  const means = [key && `API key ${key}`, session && `session ${session}`].filter(Boolean).join(", ");
  return [person("actor_id", id, name) ?? by, means && el("small", {}, means)];
}

function details({ details: { by, ...others } }) {
  return Object.entries(others).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ");
}

function circumstances(entry) {
  const { time, client_address: address, actor_id: id, actor: name, details: { by } } = entry;
  const other = id === entry.user_id ? by : (name ?? by);
  return [moment(time), address && say("audit.from", { address }), other && say("audit.by", { actor: other }), details(entry)].filter(Boolean).join(", ");
}

/** False for the second session of a sign-in that sets two cookies: to the person, it is one sign-in. */
function isFirst(entry, index, entries) {
  const before = entries[index - 1];
  const isSame = (name) => entry[name] === before[name];
  return entry.event !== "session_created" || index === 0 || !["event", "time", "client_address"].every(isSame);
}

/** Lists what happened to the current user, in pages. */
export function ownAudit() {
  const element = el("div", { class: "credentials", tabindex: "-1", role: "group", "aria-label": say("audit.own") });
  async function load(after) {
    try {
      const { entries, next } = await call("GET", query("/profile/audit", { limit: OWN_SIZE, after }));
      const items = entries.filter(isFirst).map((entry) => el("li", {}, el("p", {}, title(entry), el("small", {}, circumstances(entry)))));
      const older = next && button(say("audit.older"), {}, () => load(next).then(() => element.focus()));
      const newest = after && button(say("audit.newest"), {}, () => load().then(() => element.focus()));
      fill(element, items.length ? el("ul", {}, items) : el("small", {}, say("audit.none")), el("p", { class: "actions" }, newest, older));
    } catch (error) {
      fill(element, failure(explain(error), () => load(after)));
    }
  }
  return { element, load: () => load() };
}
