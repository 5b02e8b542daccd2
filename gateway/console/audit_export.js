// Saves the entries that the filters find as a CSV file.

import { eachEntry } from "./audit_pages.js";
import { count } from "./counts.js";
import { openCsvExport } from "./csv_export.js";

/** More would fill the memory of the browser. */
const MAX_ENTRIES = 100_000;
const COLUMNS = ["revision", "time", "event", "user_id", "username", "actor_id", "actor", "actor_key", "actor_session", "client_address", "request_id"];

/** `wanted` are the filters for the API. */
export function openAuditExport(wanted) {
  async function read(send, progressed) {
    const rows = [];
    const add = (entries) => {
      for (const entry of entries) rows.push([...COLUMNS.map((name) => entry[name]), JSON.stringify(entry.details)]);
      progressed(rows.length);
    };
    const isAll = await eachEntry(wanted, MAX_ENTRIES, send, add);
    const cut = !isAll && "There are more: older entries are not in the file. Filter by days to save them in parts.";
    return { header: [...COLUMNS, "details"], rows, cut };
  }
  openCsvExport({ label: "Reading the entries", name: "audit", counted: (number) => count(number, "entry", "entries"), read });
}
