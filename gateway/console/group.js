// A group with its members.

import { call, query } from "./api.js";
import { ask } from "./dialog.js";
import { button, el, notify } from "./dom.js";
import { endText } from "./end_field.js";
import { action } from "./form.js";
import { membershipList, openMembership } from "./memberships.js";
import { paging } from "./paging.js";
import { userFields } from "./user_fields.js";

const PAGE_SIZE = 25;

/** `load(listAddress)` shows what is stored, with a link to the list. */
export function groupPage(id) {
  const path = `/groups/${id}`;
  const group = { id };
  const pages = paging(path, () => list.load());
  const back = el("a", {}, "‹ All groups");
  const title = el("h2", {});
  const facts = el("p", { class: "muted" });
  const add = el("p", { class: "actions" }, button("Add a member", { class: "primary" }, () => openAdd(group, list.changed)));
  const removal = deletion(path);
  const parts = [title, facts, add, removal];
  const list = membershipList({
    label: "Members",
    read,
    describe: ({ user }) => ({ name: user.username, id: user.id }),
    none: () => (pages.after ? "There are no more members." : "This group has no members."),
  });

  async function read(signal) {
    const listPath = query(`${path}/members`, { limit: PAGE_SIZE, after: pages.after });
    const [stored, { members, next }] = await Promise.all([call("GET", path, { signal }), call("GET", listPath, { signal })]);
    Object.assign(group, stored);
    title.textContent = group.name;
    facts.textContent = `Id ${id}, ${count(group.members)}`;
    for (const part of parts) part.hidden = false;
    pages.show(members.length ? count(members.length) : "", next);
    return members.map(({ user_id: userId, username, until }) => ({ user: { id: userId, username }, group, until }));
  }

  function load(listAddress) {
    back.href = listAddress;
    // The group may have been deleted since it was shown.
    for (const part of parts) part.hidden = true;
    pages.show("", null);
    list.load();
  }

  const article = el("article", {}, el("p", {}, back), title, facts, add, list.element, removal);
  return { id, content: [el("div", { class: "list" }, article), pages.element], load };
}

function openAdd(group, changed) {
  const { elements, find, refuse } = userFields();
  openMembership({
    title: `Add a member to ${group.name}`,
    fields: elements,
    submit: "Add",
    changed,
    find: async () => {
      const user = await find();
      if (!user) return undefined;
      // The API would replace the end of a membership that exists.
      const { groups } = await call("GET", `/users/${user.id}/groups`);
      const present = groups.find((it) => it.id === group.id);
      if (present) return refuse(`${user.username} is in ${group.name} already, ${endText(present.until)}.`);
      return { user, group };
    },
  });
}

function deletion(path) {
  const { element, trigger } = action({
    text: "Delete group",
    explanation: "Applications that require the group then admit none of its members. A group that API keys name cannot be deleted.",
    act: async () => {
      const { name, members } = await call("GET", path);
      if (!(await ask(`Delete the group ${name}, which has ${count(members)}?`, "Delete"))) return;
      await call("DELETE", path);
      notify(`${name} was deleted.`);
      location.hash = "#/groups";
    },
  });
  trigger.classList.add("danger");
  return element;
}

function count(members) {
  return `${members} ${members === 1 ? "member" : "members"}`;
}
