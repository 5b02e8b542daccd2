// The users, for admins: search by prefix, filter by role, pages.

import { call, explain, query } from "./api.js";
import { button, el, fill, plainInput } from "./dom.js";
import { openNewUser } from "./new_user.js";
import { paging, remember, remembered } from "./paging.js";
import { loadRoles, roleOptions } from "./roles.js";
import { failure, loading, nothing } from "./states.js";
import { openUser } from "./user_dialog.js";
import { userRow } from "./user_row.js";

const PAGE_SIZE = 25;
const TYPING_PAUSE = 200;
const COLUMNS = { Id: "id", Name: "name", Role: "role", Actions: "end" };

export function usersView() {
  const start = remembered();
  const search = plainInput({ type: "search", placeholder: "Name begins with…", value: start.username, "aria-label": "Name begins with" });
  const role = el("select", { "aria-label": "Role" }, roleOptions(start.role, "All roles"));
  const roles = loadRoles().then(() => fill(role, roleOptions(role.value, "All roles")));
  const heading = el("h1", { tabindex: "-1" }, "Users");
  const create = button("New user", { class: "primary" }, () => openNewUser(load));
  const rows = el("tbody", {});
  const columns = Object.keys(COLUMNS).map((text) => el("th", { scope: "col", class: COLUMNS[text] }, text));
  const table = el("table", {}, el("caption", { class: "unseen" }, "Users"), el("thead", {}, el("tr", {}, columns)), rows);
  const list = el("div", { class: "list" });
  const pages = paging(load);
  let pending = new AbortController();
  let timer;

  const restart = () => {
    pages.restart();
    load();
  };
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(restart, TYPING_PAUSE);
  });
  role.addEventListener("change", restart);

  async function load() {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    const filters = { username: search.value, role: role.value, after: pages.after };
    remember("/users", filters);
    list.setAttribute("aria-busy", "true");
    if (!rows.isConnected) fill(list, loading());
    try {
      const answer = call("GET", query("/users", { limit: PAGE_SIZE, ...filters }), { signal });
      const [{ users, next }] = await Promise.all([answer, roles]);
      show(users, next);
    } catch (error) {
      if (signal.aborted) return;
      fill(list, failure(explain(error), load));
    }
    list.removeAttribute("aria-busy");
  }

  function show(users, next) {
    pages.show(users, next);
    if (!users.length) return fill(list, none());
    fill(rows, users.map(row));
    fill(list, table);
    list.scrollTop = 0;
  }

  function row(user) {
    const { element, show } = userRow(user, () => openUser(user, { changed: show, removed }));
    const removed = () => {
      element.remove();
      if (!rows.childElementCount) load();
      heading.focus();
    };
    return element;
  }

  function none() {
    if (!search.value && !role.value) return nothing("There are no more users.");
    const clear = button("Clear the filters", {}, () => {
      search.value = role.value = "";
      restart();
      search.focus();
    });
    return nothing("No user matches the filters.", clear);
  }

  const bar = el("div", { class: "bar" }, heading, el("div", { class: "filters", role: "search" }, search, role), create);
  return { element: el("div", { class: "view" }, bar, list, pages.element), load };
}
