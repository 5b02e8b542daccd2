// Lists memberships: the members of a group, or the groups of a user.

import { call, explain } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el, fill } from "./dom.js";
import { endField, endText } from "./end_field.js";
import { confirmed, form, outcome, run } from "./form.js";
import { failure } from "./states.js";

/**
 * `read(signal)` returns memberships, `{user: {id, username}, group: {id, name}, until}`. `describe(membership)` returns
 * the `name` and the `id` of the user or the group, whichever the list shows. `none()` is the text of an empty list.
 */
export function membershipList({ label, read, describe, none }) {
  const element = el("div", { class: "credentials memberships", tabindex: "-1", role: "group", "aria-label": label });
  const message = outcome();
  let pending = new AbortController();

  async function load() {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    try {
      const items = await read(signal);
      fill(element, items.length ? el("ul", {}, items.map(row)) : el("small", {}, none()), message.place);
    } catch (error) {
      if (!signal.aborted) fill(element, failure(explain(error), load));
    }
  }

  function row(membership) {
    const { name, id } = describe(membership);
    const { user, group, until } = membership;
    const remove = async () => {
      await store(membership);
      await changed(membership, { before: until });
    };
    const edit = () => {
      const title = `${user.username} in ${group.name}`;
      openMembership({ title, submit: "Change end", until, find: () => membership, changed });
    };
    const change = button("Change end", { class: "small", "aria-label": `Change end of ${name}` }, edit);
    return el(
      "li",
      {},
      el("p", {}, name, el("small", {}, `Id ${id}, ${endText(until)}`)),
      el("div", { class: "actions" }, change, confirmed("Remove", remove, name)),
    );
  }

  /**
   * Shows the stored memberships after a change, and says what it was. `before` and `after` are the ends, and undefined
   * without a membership.
   */
  async function changed(membership, { before, after, isUndone }) {
    message.clear();
    await load();
    element.focus();
    const undo = ({ target }) => run(target, message, () => takeBack(membership, { before, after }));
    message.good(textOf(membership, after), !isUndone && undo);
  }

  /** Restores the membership as it was before, unless another admin has changed it since. */
  async function takeBack(membership, { before, after }) {
    const { groups } = await call("GET", `/users/${membership.user.id}/groups`);
    const now = groups.find(({ id }) => id === membership.group.id)?.until;
    if (timeOf(now) !== timeOf(after)) return message.error("Not undone: the membership has since been changed.");
    await store(membership, before);
    await changed(membership, { before: after, after: before, isUndone: true });
  }

  return { element, load, changed };
}

/**
 * Opens a dialog that adds a membership or changes its end. `find()` returns its user and group. If it returns nothing,
 * it has shown the reason at one of `fields`. `until` is the stored end, and undefined of a new membership.
 */
export function openMembership({ title, fields, submit, until, find, changed }) {
  const end = endField(until);
  const { element } = form({
    name: title,
    fields: [fields, end.element],
    submit,
    act: async () => {
      const membership = await find();
      if (!membership) return;
      const stored = end.value;
      await store(membership, stored);
      dialog.close();
      await changed(membership, { before: until, after: stored });
    },
  });
  const dialog = openDialog(title, element);
  dialog.showModal();
  element.elements[0].focus();
}

/** Stores the end of the membership, which is null for none. Without `until`, removes the membership. */
function store({ user, group }, until) {
  const path = `/groups/${group.id}/members/${user.id}`;
  if (until === undefined) return call("DELETE", path);
  return call("PUT", path, { body: until ? { until } : {} });
}

function textOf({ user, group }, until) {
  if (until === undefined) return `${user.username} was removed from ${group.name}.`;
  return `${user.username} is in ${group.name} ${endText(until)}.`;
}

function timeOf(until) {
  return until ? Date.parse(until) : until;
}
