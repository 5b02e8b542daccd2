// Reads all pages of users.

import { query } from "./api.js";

const PAGE_SIZE = 200;

/** Returns all users that match `wanted`. `progressed(users)` runs after each page. `send` is that of patient calls. */
export async function allUsers(wanted, send, progressed) {
  const all = [];
  let after;
  do {
    const { users, next } = await send("GET", query("/users", { ...wanted, limit: PAGE_SIZE, after }));
    all.push(...users);
    progressed(all);
    after = next;
  } while (after !== null);
  return all;
}
