// Fields that name a user, by the username or the id.

import { call, query } from "./api.js";
import { el, field, plainInput } from "./dom.js";
import { errorAt } from "./form.js";

const PAGE_SIZE = 200;
/** A search by name ends after this many pages of names that only begin with the text. */
const MAX_PAGES = 10;

/** `find()` returns `{id, username}`, or shows at the field why there is no such user. */
export function userFields() {
  // Usernames may consist of digits, so a text alone does not say which of the two it is.
  const by = el("select", { name: "by" }, el("option", { value: "username" }, "Username"), el("option", { value: "id" }, "Id"));
  const input = plainInput({ name: "username", required: true, maxlength: 255 });
  return {
    elements: [field("Find by", by), field("User", input)],
    refuse: (text) => errorAt(input, text),
    find: () => (by.value === "id" ? findById(input) : findByName(input)),
  };
}

async function findById(input) {
  const id = input.value.trim();
  if (!/^\d+$/.test(id)) return errorAt(input, "An id is a number.");
  return call("GET", `/users/${id}`);
}

/** The API finds users by the beginning of the name, in the order of their ids. */
async function findByName(input) {
  const name = input.value.normalize("NFC");
  let after;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { users, next } = await call("GET", query("/users", { username: name, limit: PAGE_SIZE, after }));
    const user = users.find(({ username }) => username === name);
    if (user) return user;
    if (next === null) return errorAt(input, "No user has this name.");
    after = next;
  }
  return errorAt(input, "Too many names begin with this text. Find the user by the id.");
}
