// Saves the list of users, as it is filtered and sorted, as a CSV file.

import { count } from "./counts.js";
import { openCsvExport } from "./csv_export.js";
import { fileOf } from "./user_columns.js";
import { allUsers } from "./user_pages.js";

/** `wanted` are the filters and the order for the API, and `total` is how many users match. */
export function openExport(wanted, columns, total) {
  async function read(send, progressed) {
    const users = await allUsers(wanted, send, ({ length }) => progressed(length));
    const [header, rows] = fileOf(users, columns);
    return { header, rows };
  }
  openCsvExport({ label: "Reading the users", name: "users", total, counted: (number) => count(number), read });
}
