// Shows users what happened to them.

import { call, explain, query } from "./api.js";
import { detailsOf, titleOf } from "./audit_texts.js";
import { button, el, fill } from "./dom.js";
import { failure } from "./states.js";
import { say } from "./texts.js";
import { moment } from "./times.js";

const PAGE_SIZE = 10;

/** Lists what happened to the current user, in pages. */
export function ownAudit() {
  const element = el("div", { class: "credentials", tabindex: "-1", role: "group", "aria-label": say("audit.own") });
  async function load(after) {
    try {
      const { entries, next } = await call("GET", query("/profile/audit", { limit: PAGE_SIZE, after }));
      const items = entries.filter(isFirst).map((entry) => el("li", {}, el("p", {}, titleOf(entry), el("small", {}, circumstances(entry)))));
      const older = next && button(say("audit.older"), {}, () => load(next).then(() => element.focus()));
      const newest = after && button(say("audit.newest"), {}, () => load().then(() => element.focus()));
      fill(element, items.length ? el("ul", {}, items) : el("small", {}, say("audit.none")), el("p", { class: "actions" }, newest, older));
    } catch (error) {
      fill(element, failure(explain(error), () => load(after)));
    }
  }
  return { element, load: () => load() };
}

function circumstances(entry) {
  const { time, client_address: address, actor_id: id, actor: name, details: { by } } = entry;
  const other = id === entry.user_id ? by : (name ?? by);
  return [moment(time), address && say("audit.from", { address }), other && say("audit.by", { actor: other }), detailsOf(entry)].filter(Boolean).join(", ");
}

/** False for the second session of a sign-in that sets two cookies: to the person, it is one sign-in. */
function isFirst(entry, index, entries) {
  const before = entries[index - 1];
  const isSame = (name) => entry[name] === before[name];
  return entry.event !== "session_created" || index === 0 || !["event", "time", "client_address"].every(isSame);
}
