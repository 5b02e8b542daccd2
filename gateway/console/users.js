// The list of users, with a search, filters, columns and pages. All of these are in the address.

import { earlier, go, parameters } from "./address.js";
import { call, explain, query } from "./api.js";
import { bulkBar } from "./bulk_bar.js";
import { count } from "./counts.js";
import { button, el, fill } from "./dom.js";
import { openNewUser } from "./new_user.js";
import { paging } from "./paging.js";
import { failure, loading, nothing } from "./states.js";
import { columnMenu, columnsOf, sortOf } from "./user_columns.js";
import { openUser } from "./user_dialog.js";
import { openExport } from "./user_export.js";
import { filtersForApi, userFilters } from "./user_filters.js";
import { openImport } from "./user_import.js";
import { userSelection } from "./user_selection.js";
import { userTable } from "./user_table.js";

const PAGE_SIZE = 25;
const BUSY_PAUSE = 1000;
const DETAILS = "times,groups,sign_in";

export function usersView() {
  const heading = el("h1", { tabindex: "-1" }, "Users");
  const list = el("div", { class: "list" });
  const pages = paging("/users", load);
  const filters = userFilters((values, isTyping) => {
    // Another view may be shown by now, and a date that is typed in part changes nothing.
    const isOther = Object.entries(values).some(([name, value]) => value !== (parameters()[name] ?? ""));
    if (list.isConnected && isOther) change(values, { isReplaced: isTyping });
  });
  const columns = columnMenu((names) => change({ columns: names }, { isReplaced: true, before: earlier() }));
  const selection = userSelection(showSelection);
  const table = userTable({ selection, sortBy, open });
  const found = el("p", { role: "status" });
  const save = button("Export CSV", { class: "small" }, () => openExport(wanted(), columnsOf(parameters()), total));
  const tools = el("p", { class: "actions" }, columns.trigger, save);
  const finished = () => {
    reload();
    heading.focus();
  };
  const bulk = bulkBar({ selection, filters, finished, cleared: () => heading.focus() });
  let pending = new AbortController();
  /** How many users match the filters, and the filters for which this was asked. */
  let total;
  let counted;
  /** Whether the page is the only one of the list. */
  let isOnly;

  /** Shows another list. Unless the pages before it are given, it begins with the first page. */
  function change(values, options = {}) {
    const start = options.before ? {} : { after: "", page: "" };
    go("/users", { ...parameters(), ...values, ...start }, options);
    load();
  }

  /** What the list shows, as the API takes it. */
  function wanted() {
    return { include: DETAILS, ...filtersForApi(filters.values()), sort: sortOf(parameters()) };
  }

  /** Sorts by this, or in the other direction if the list is sorted by it. */
  function sortBy(sort) {
    const order = (sortOf(parameters()) ?? "id") === sort ? `-${sort}` : sort;
    change({ sort: order === "id" ? "" : order });
  }

  function reload() {
    counted = undefined;
    if (list.isConnected) load();
  }

  async function load() {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    const key = JSON.stringify(filters.read());
    if (selection.filters && JSON.stringify(selection.filters) !== key) selection.clear();
    columns.read(columnsOf(parameters()));
    // A page of the same list has the same total.
    const isCounted = pages.after !== 0 && counted === key;
    list.setAttribute("aria-busy", "true");
    if (!table.element.isConnected) fill(list, loading());
    try {
      const request = { limit: PAGE_SIZE, ...wanted(), after: pages.after, total: !isCounted };
      const [answer] = await Promise.all([ask(request, signal), filters.loaded]);
      if (!isCounted) [total, counted] = [answer.total, key];
      show(answer);
    } catch (error) {
      if (signal.aborted) return;
      // The address may name a page that never existed.
      if (error.status === 400 && pages.after) return change({}, { isReplaced: true });
      showFailure(error);
    }
    list.removeAttribute("aria-busy");
  }

  async function ask(request, signal) {
    const get = () => call("GET", query("/users", request), { signal });
    try {
      return await get();
    } catch (error) {
      // An admin can run one search at a time, and the previous one may still run.
      if (!request.search || error.status !== 503) throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE));
      return get();
    }
  }

  function show({ users, next }) {
    isOnly = !pages.after && next === null;
    pages.show(users.length && !isOnly ? count(users.length) : "", next);
    table.show(users, columnsOf(parameters()), sortOf(parameters()), allText());
    // A table that is put in again would lose the focus.
    if (!users.length) fill(list, none());
    else if (table.element.parentElement !== list) fill(list, table.element);
    list.scrollTop = view.scrollTop = 0;
    showSelection();
  }

  function allText() {
    return total ? `${count(total)}${filters.text}` : "";
  }

  function showFailure(error) {
    total = counted = undefined;
    showSelection();
    pages.show("", null);
    const clear = error.status === 400 && button("Clear the filters", {}, () => filters.clear());
    const state = failure(explain(error), !clear && load);
    if (clear) state.append(clear);
    fill(list, state);
  }

  function showSelection() {
    save.hidden = !total;
    table.showSelection();
    bulk.show(table.isPageSelected && !isOnly, total);
    tools.hidden = !selection.isEmpty;
    found.textContent = selection.isEmpty ? allText() : bulk.text(total);
  }

  function open(user, showRow) {
    // The row may match the filters no longer, or have another place.
    const changed = (values) => {
      showRow(values);
      if (filters.text || sortOf(parameters())) reload();
    };
    const removed = () => {
      selection.forget(user);
      finished();
    };
    openUser(user, { changed, removed, reload });
  }

  function none() {
    if (!filters.text) return nothing("There are no more users.");
    return nothing("No users match the filters.", button("Clear the filters", {}, () => filters.clear()));
  }

  const create = button("New user", { class: "primary" }, () => openNewUser(reload));
  const add = button("Import users", {}, () => openImport(reload));
  const bar = el("div", { class: "bar" }, heading, filters.element, el("p", { class: "actions" }, add, create));
  const above = el("div", { class: "above" }, found, tools, bulk.element);
  showSelection();
  const view = el("div", { class: "view users" }, bar, filters.more, above, columns.menu, list, pages.element);
  return { element: view, load };
}
