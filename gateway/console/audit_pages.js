// Reads the record: a page for the view, or all entries for a file.

import { call, query } from "./api.js";
import { folded, isFold } from "./audit_folding.js";

const PAGE_SIZE = 25;
const LARGEST_PAGE = 200;
/** The number of further pages that are read for an import that continues. */
const MAX_FURTHER = 10;

/** Returns a page as `rows`, which are arrays of entries, and `next`. With `isFolded`, an import is one row. */
export async function readRows(wanted, isFolded, signal) {
  const read = (limit, after) => call("GET", query("/audit", { ...wanted, limit, after }), { signal });
  let { entries, next } = await read(PAGE_SIZE, wanted.after);
  if (!isFolded) return { rows: entries.map((entry) => [entry]), next };
  let rows = folded(entries);
  // Otherwise, an import would fill page after page.
  let ofLast = 0;
  for (let further = 0; further < MAX_FURTHER && next !== null && goesOn(rows, ofLast); further += 1) {
    const page = await read(LARGEST_PAGE, next);
    entries = [...entries, ...page.entries];
    next = page.next;
    ofLast = page.entries.length;
    rows = folded(entries);
  }
  if (rows.length <= PAGE_SIZE) return { rows, next };
  const shown = rows.slice(0, PAGE_SIZE);
  return { rows: shown, next: shown.at(-1).at(-1).revision };
}

/** Whether an import is at the end, and the last page that was read has nothing else. */
function goesOn(rows, ofLast) {
  const last = rows.at(-1);
  return Boolean(last) && isFold(last) && last.length >= ofLast;
}

/**
 * Reads entries until there are `max`. `send` is that of patient calls, and `progressed(entries)` runs with each page.
 * Returns whether these are all.
 */
export async function eachEntry(wanted, max, send, progressed) {
  let after;
  for (let read = 0; read < max; ) {
    const { entries, next } = await send("GET", query("/audit", { ...wanted, limit: Math.min(LARGEST_PAGE, max - read), after }));
    read += entries.length;
    progressed(entries);
    if (next === null) return true;
    after = next;
  }
  return false;
}
