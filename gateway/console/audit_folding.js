// Folds the entries of one import into one row.

import { count } from "./counts.js";

const MIN_FOLDED = 3;
/** The events of an import in the console. One by `user import` has an event of its own. */
const CREATION = ["user_created", "membership_set", "user_end_set", "password_link_created"];
/** The events of which an import has at least one. */
const IMPORTED = ["user_created", "user_imported"];

/** Returns the entries in the same order, in arrays: those of one import together, and any other alone. */
export function folded(entries) {
  const rows = [];
  for (let start = 0; start < entries.length; ) {
    const end = endOfRun(entries, start);
    const run = entries.slice(start, end);
    rows.push(...(isImport(run) ? [run] : run.map((entry) => [entry])));
    start = end;
  }
  return rows;
}

/** Links or memberships alone are no import, even if the same user made many of them. */
function isImport(run) {
  return run.length >= MIN_FOLDED && run.some(({ event }) => IMPORTED.includes(event));
}

export function isFold(row) {
  return row.length > 1;
}

function endOfRun(entries, start) {
  const key = importOf(entries[start]);
  let end = start + 1;
  while (key && end < entries.length && importOf(entries[end]) === key) end += 1;
  return end;
}

/** Entries with the same result belong together. It is undefined if the entry is none of an import. */
function importOf({ event, actor_id: actor, actor_key: key, actor_session: session, details: { by } }) {
  const kind = CREATION.includes(event) ? "created" : event === "user_imported" && "imported";
  return kind ? JSON.stringify([kind, actor, key, session, by]) : undefined;
}

/** What was done in a row that is folded, such as "30 users created, with 60 further entries". */
export function foldTitle(row) {
  const of = (event) => row.filter((entry) => entry.event === event).length;
  if (of("user_imported")) return `${count(row.length)} imported`;
  const created = of("user_created");
  const others = row.length - created;
  return `${count(created)} created${others ? `, with ${count(others, "further entry", "further entries")}` : ""}`;
}
