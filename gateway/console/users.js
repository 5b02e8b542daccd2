// The list of users, with a search, filters and pages.

import { go } from "./address.js";
import { call, explain, query } from "./api.js";
import { button, el, fill } from "./dom.js";
import { openNewUser } from "./new_user.js";
import { paging } from "./paging.js";
import { failure, loading, nothing } from "./states.js";
import { openUser } from "./user_dialog.js";
import { userFilters } from "./user_filters.js";
import { userRow } from "./user_row.js";

const PAGE_SIZE = 25;
const BUSY_PAUSE = 1000;
const COLUMNS = { Id: "id", Name: "name", Role: "role", Created: "time", "Last sign-in": "time", Actions: "end" };

export function usersView() {
  const heading = el("h1", { tabindex: "-1" }, "Users");
  const create = button("New user", { class: "primary" }, () => openNewUser(reload));
  const rows = el("tbody", {});
  const columns = Object.entries(COLUMNS).map(([text, kind]) => el("th", { scope: "col", class: kind }, text));
  const caption = el("caption", { class: "unseen" });
  const table = el("table", {}, caption, el("thead", {}, el("tr", {}, columns)), rows);
  const list = el("div", { class: "list" });
  const pages = paging("/users", load);
  const filters = userFilters((values, isTyping) => {
    // Another view may be shown by now.
    if (!list.isConnected) return;
    go("/users", values, { isReplaced: isTyping });
    load();
  });
  let pending = new AbortController();

  function reload() {
    if (list.isConnected) load();
  }

  async function load() {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    const wanted = { limit: PAGE_SIZE, include: "times,groups", ...filters.read(), after: pages.after };
    list.setAttribute("aria-busy", "true");
    if (!rows.isConnected) fill(list, loading());
    try {
      const [{ users, next }] = await Promise.all([ask(wanted, signal), filters.loaded]);
      show(users, next);
    } catch (error) {
      if (signal.aborted) return;
      pages.show("", null);
      fill(list, failure(explain(error), load));
    }
    list.removeAttribute("aria-busy");
  }

  async function ask(wanted, signal) {
    const get = () => call("GET", query("/users", wanted), { signal });
    try {
      return await get();
    } catch (error) {
      // An admin can run one search at a time, and the previous one may still run.
      if (!wanted.search || error.status !== 503) throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE));
      return get();
    }
  }

  function show(users, next) {
    const what = `${users.length} ${users.length === 1 ? "user" : "users"}${filters.text}`;
    pages.show(users.length ? what : "", next);
    if (!users.length) return fill(list, none());
    caption.textContent = what;
    fill(rows, users.map(row));
    fill(list, table);
    list.scrollTop = 0;
  }

  function row(user) {
    const { element, show } = userRow(user, () => openUser(user, { changed, removed, reload }));
    // The row may match the filters no longer.
    const changed = (values) => {
      show(values);
      if (filters.text) reload();
    };
    const removed = () => {
      load();
      heading.focus();
    };
    return element;
  }

  function none() {
    if (!filters.text) return nothing("There are no more users.");
    return nothing("No users match the filters.", button("Clear the filters", {}, () => filters.clear()));
  }

  const bar = el("div", { class: "bar" }, heading, filters.element, create);
  return { element: el("div", { class: "view" }, bar, list, pages.element), load };
}
