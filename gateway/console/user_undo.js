// Says what was changed about a user, with a button that takes it back.

import { call, explain, query } from "./api.js";
import { notify } from "./dom.js";

/**
 * `text` says what was changed, and `what` names it, such as "the role". `undo()` takes the change back and returns a
 * text that says so, unless `isStill(stored)` is false: then another admin has changed it since.
 */
export function notifyChange(user, { text, what, isStill, undo, reload }) {
  const { username } = user;
  notify(text, async () => {
    try {
      if (!isStill(await stored(user.id))) return notify(`Not undone: ${what} of ${username} has since been changed.`);
      notify(await undo());
    } catch (error) {
      notify(`Not undone: ${explain(error, true)}`);
    } finally {
      reload();
    }
  });
}

/** Reads the user with the end of the account, which only the list has. */
export async function stored(id) {
  const { users } = await call("GET", query("/users", { limit: 1, after: id - 1, include: "groups" }));
  return users[0]?.id === id ? users[0] : {};
}
