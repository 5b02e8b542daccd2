// The list of groups, and the pages of single groups.

import { call, explain, query } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, el, field, fill, notify, plainInput } from "./dom.js";
import { form } from "./form.js";
import { groupPage } from "./group.js";
import { paging } from "./paging.js";
import { failure, loading, nothing } from "./states.js";

const PAGE_SIZE = 25;
const COLUMNS = { Id: "id", Name: "name", Members: "members" };

/** The address of the page of the list that was shown last. */
let listAddress = "#/groups";

export function groupsView() {
  const heading = el("h1", { tabindex: "-1" }, "Groups");
  const bar = el("div", { class: "bar" }, heading, button("New group", { class: "primary" }, openNewGroup));
  const element = el("div", { class: "view" }, bar);
  const list = groupList();
  let page;

  function load(id) {
    if (id && page?.id !== id) page = groupPage(id);
    const shown = id ? page : list;
    // Replacing what is shown already would take the focus from it.
    if (shown.content[0].parentElement !== element) fill(element, bar, shown.content);
    shown.load(listAddress);
  }

  return { element, load };
}

function groupList() {
  const rows = el("tbody", {});
  const columns = Object.entries(COLUMNS).map(([text, kind]) => el("th", { scope: "col", class: kind }, text));
  const caption = el("caption", { class: "unseen" }, "Groups");
  const table = el("table", {}, caption, el("thead", {}, el("tr", {}, columns)), rows);
  const list = el("div", { class: "list" });
  const pages = paging("/groups", load);
  let pending = new AbortController();

  async function load() {
    listAddress = location.hash || "#/groups";
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    list.setAttribute("aria-busy", "true");
    if (!rows.isConnected) fill(list, loading());
    try {
      const { groups, next } = await call("GET", query("/groups", { limit: PAGE_SIZE, after: pages.after }), { signal });
      pages.show(groups.length ? `${groups.length} ${groups.length === 1 ? "group" : "groups"}` : "", next);
      fill(rows, groups.map(row));
      fill(list, groups.length ? table : nothing(pages.after ? "There are no more groups." : "There are no groups yet."));
      list.scrollTop = 0;
    } catch (error) {
      if (signal.aborted) return;
      pages.show("", null);
      fill(list, failure(explain(error), load));
    }
    list.removeAttribute("aria-busy");
  }

  return { content: [list, pages.element], load };
}

function row({ id, name, members }) {
  return el(
    "tr",
    {},
    el("td", { class: "id" }, id),
    el("td", { class: "name" }, el("a", { href: `#/groups/${id}` }, name)),
    el("td", { class: "members" }, members),
  );
}

function openNewGroup() {
  const name = plainInput({ name: "name", required: true });
  const { element } = form({
    name: "New group",
    fields: field("Name", name, "Lower-case letters, digits, _ and -, at most 32 characters. It cannot be changed."),
    submit: "Create",
    act: async () => {
      const group = await call("POST", "/groups", { body: { name: name.value } });
      dialog.close();
      notify(`The group ${group.name} was created.`);
      location.hash = `#/groups/${group.id}`;
    },
  });
  const dialog = openDialog("New group", element);
  dialog.showModal();
  name.focus();
}
