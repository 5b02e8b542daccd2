// Which users of the list are selected: single ones, also of other pages, or all that match the filters.

import { session } from "./session.js";

/** `changed()` runs after each change. */
export function userSelection(changed) {
  const chosen = new Map();
  let filters;

  function replace(users, wanted) {
    chosen.clear();
    for (const user of users) chosen.set(user.id, user);
    filters = wanted;
    changed();
  }

  return {
    /** The filters, if all users that match them are selected, else undefined. */
    get filters() {
      return filters;
    },
    get users() {
      return [...chosen.values()];
    },
    get isEmpty() {
      return !filters && !chosen.size;
    },
    has: ({ id }) => id !== session.user.id && (filters !== undefined || chosen.has(id)),
    /** Adds the users, or removes them. `page` are the users that are shown, which remain if not all are selected. */
    change(users, isSelected, page) {
      if (filters) for (const user of page) chosen.set(user.id, user);
      for (const user of users) {
        if (isSelected && user.id !== session.user.id) chosen.set(user.id, user);
        else chosen.delete(user.id);
      }
      chosen.delete(session.user.id);
      filters = undefined;
      changed();
    },
    /** Takes away a user who exists no longer. */
    forget({ id }) {
      if (chosen.delete(id)) changed();
    },
    /** Selects all users that match these filters. */
    all: (wanted) => replace([], wanted),
    /** Selects these users only. */
    only: (users) => replace(users),
    clear: () => replace([]),
  };
}
