// Lists memberships: the members of a group, or the groups of a user.

import { call, explain } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el, fill } from "./dom.js";
import { endField, endText } from "./end_field.js";
import { confirmed, form, outcome } from "./form.js";
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
      await call("DELETE", pathOf(membership));
      await changed(`${user.username} was removed from ${group.name}.`);
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

  /** Shows the stored memberships after a change, and says what it was. */
  async function changed(text) {
    message.clear();
    await load();
    element.focus();
    message.good(text);
  }

  return { element, load, changed };
}

/**
 * Opens a dialog that adds a membership or changes its end. `find()` returns its user and group. If it returns nothing,
 * it has shown the reason at one of `fields`.
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
      const { user, group } = membership;
      const stored = end.value;
      await call("PUT", pathOf(membership), { body: stored ? { until: stored } : {} });
      dialog.close();
      await changed(`${user.username} is in ${group.name} ${endText(stored)}.`);
    },
  });
  const dialog = openDialog(title, element);
  dialog.showModal();
  element.elements[0].focus();
}

function pathOf({ user, group }) {
  return `/groups/${group.id}/members/${user.id}`;
}
