// The part of the dialog about the groups of a user.

import { call } from "./api.js";
import { el, field } from "./dom.js";
import { action } from "./form.js";
import { readGroups } from "./group_options.js";
import { membershipList, openMembership } from "./memberships.js";

export function groupsPart({ user, path, changed }) {
  const readOwn = async (signal) => (await call("GET", `${path}/groups`, { signal })).groups;
  const list = membershipList({
    label: "Groups",
    read: async (signal) => {
      const groups = await readOwn(signal);
      const names = groups.map(({ name }) => name).sort();
      // The list shows the groups, too.
      if (user.groups && String(names) !== String([...user.groups].sort())) changed({ groups: names });
      return groups.map((group) => ({ user, group, until: group.until }));
    },
    describe: ({ group }) => group,
    none: () => "The user is in no group.",
  });
  const { element: add, trigger } = action({
    text: "Add to a group",
    explanation: "Applications that require a group admit its members.",
    act: async () => {
      const [all, present] = await Promise.all([readGroups(), readOwn()]);
      const others = all.filter(({ id }) => !present.some((group) => group.id === id));
      if (!others.length) return "There is no other group.";
      openAdd(user, others, list.changed);
    },
  });
  trigger.classList.add("primary");
  return { title: "Groups", content: [list.element, add], load: list.load };
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
