// The rows of the record.

import { foldTitle, isFold } from "./audit_folding.js";
import { detailsOf, titleOf } from "./audit_texts.js";
import { button, el } from "./dom.js";
import { second } from "./times.js";

/** Shows an array of entries as one row. More than one are folded, and a button opens them. */
export function auditRow(entries) {
  return isFold(entries) ? foldedRow(entries) : entryRow(entries[0]);
}

function entryRow(entry, kind) {
  const event = [titleOf(entry), el("small", {}, detailsOf(entry))];
  return row(entry, { class: kind }, event, person("user_id", entry.user_id, entry.username));
}

function foldedRow(entries) {
  const newest = entries[0];
  const opened = [];
  const trigger = button(foldTitle(entries), { class: "disclosure", "aria-expanded": "false" }, () => {
    const isOpen = !opened.length;
    trigger.setAttribute("aria-expanded", isOpen);
    for (const shown of opened.splice(0)) shown.remove();
    if (isOpen) opened.push(...entries.map((entry) => entryRow(entry, "folded")));
    element.after(...opened);
  });
  const period = el("small", {}, `from ${second(entries.at(-1).time)} to ${second(newest.time)}`);
  const element = row(newest, { class: "fold" }, [trigger, period], "");
  return element;
}

function row(entry, attributes, event, user) {
  return el(
    "tr",
    attributes,
    el("td", { class: "event" }, event),
    el("td", { class: "user" }, user),
    el("td", { class: "actor" }, actor(entry)),
    el("td", { class: "from" }, entry.client_address),
    el("td", { class: "when" }, el("time", { datetime: entry.time, title: entry.time }, second(entry.time))),
  );
}

/** A name with the id, which links to the other entries with this user or actor. */
function person(filter, id, name) {
  if (!id) return name;
  const address = `#/audit?${filter}=${id}`;
  return name ? [el("a", { href: address }, name), el("small", {}, `Id ${id}`)] : el("a", { href: address }, `Id ${id}`);
}

function actor({ actor_id: id, actor: name, actor_key: key, actor_session: session, details: { by } }) {
  const means = [key && `API key ${key}`, session && `session ${session}`].filter(Boolean).join(", ");
  return [person("actor_id", id, name) ?? by, means && el("small", {}, means)];
}
