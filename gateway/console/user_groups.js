// The groups of a user, in the dialog in which an admin manages the user.

import { call, query } from "./api.js";
import { el, field } from "./dom.js";
import { action } from "./form.js";
import { membershipList, openMembership } from "./memberships.js";

const PAGE_SIZE = 200;

export function userGroups(user, path) {
  const readGroups = async (signal) => (await call("GET", `${path}/groups`, { signal })).groups;
  const list = membershipList({
    label: "Groups",
    read: async (signal) => (await readGroups(signal)).map((group) => ({ user, group, until: group.until })),
    describe: ({ group }) => group,
    none: () => "The user is in no group.",
  });
  const { element: add } = action({
    text: "Add to a group",
    explanation: "Applications that require a group admit its members.",
    act: async () => {
      const [all, present] = await Promise.all([allGroups(), readGroups()]);
      const others = all.filter(({ id }) => !present.some((group) => group.id === id));
      if (!others.length) return "There is no other group.";
      openAdd(user, others, list.changed);
    },
  });
  return { element: [list.element, add], load: list.load };
}

function openAdd(user, groups, changed) {
  const select = el("select", { name: "group" }, groups.map(({ id, name }) => el("option", { value: id }, name)));
  openMembership({
    title: `Add ${user.username} to a group`,
    fields: field("Group", select),
    submit: "Add",
    find: () => ({ user, group: groups[select.selectedIndex] }),
    changed,
  });
}

/** Reads all pages, because the API finds no group by its name. */
async function allGroups() {
  const all = [];
  let after;
  do {
    const { groups, next } = await call("GET", query("/groups", { limit: PAGE_SIZE, after }));
    all.push(...groups);
    after = next;
  } while (after !== null);
  return all.sort((one, other) => (one.name < other.name ? -1 : 1));
}
