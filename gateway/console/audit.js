// The view of the record for admins: all entries, with filters and pages.

import { go, parameters } from "./address.js";
import { explain } from "./api.js";
import { openAuditExport } from "./audit_export.js";
import { auditFilters, filtersForApi } from "./audit_filters.js";
import { readRows } from "./audit_pages.js";
import { auditRow } from "./audit_rows.js";
import { count } from "./counts.js";
import { button, el, fill } from "./dom.js";
import { paging } from "./paging.js";
import { failure, loading, nothing } from "./states.js";

const COLUMNS = { Event: "event", User: "user", By: "actor", From: "from", Time: "when" };

export function auditView() {
  const heading = el("h1", { tabindex: "-1" }, "Audit");
  const rows = el("tbody", {});
  const columns = Object.entries(COLUMNS).map(([text, kind]) => el("th", { scope: "col", class: kind }, text));
  const caption = el("caption", { class: "unseen" }, "Audit entries, newest first");
  const table = el("table", {}, caption, el("thead", {}, el("tr", {}, columns)), rows);
  const list = el("div", { class: "list" });
  const pages = paging("/audit", load);
  const filters = auditFilters((values, isTyping) => {
    // Another view may be shown by now, and a date that is typed in part changes nothing.
    const isOther = Object.entries(values).some(([name, value]) => value !== (parameters()[name] ?? ""));
    if (!list.isConnected || !isOther) return;
    go("/audit", values, { isReplaced: isTyping });
    load();
  });
  let pending = new AbortController();

  async function load() {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    const values = filters.read();
    // Somebody who looks for a user or an event wants to see each entry.
    const isFolded = !values.user_id && !values.username && !values.event;
    list.setAttribute("aria-busy", "true");
    if (!rows.isConnected) fill(list, loading());
    try {
      const wanted = { ...filtersForApi(values), after: pages.after };
      show(await readRows(wanted, isFolded, signal));
    } catch (error) {
      if (signal.aborted) return;
      pages.show("", null);
      const clear = error.status === 400 && button("Clear the filters", {}, filters.clear);
      const state = failure(explain(error), !clear && load);
      if (clear) state.append(clear);
      fill(list, state);
    }
    list.removeAttribute("aria-busy");
  }

  function show({ rows: found, next }) {
    const entries = found.flat();
    pages.show(entries.length ? count(entries.length, "entry", "entries") : "", next);
    filters.name(entries);
    fill(rows, found.map(auditRow));
    fill(list, entries.length ? table : nothing("No entries match the filters.", button("Clear the filters", {}, filters.clear)));
    list.scrollTop = 0;
  }

  const save = button("Export CSV", {}, () => openAuditExport(filtersForApi(filters.read())));
  const bar = el("div", { class: "bar" }, heading, filters.chips, el("p", { class: "actions" }, filters.trigger, save));
  return { element: el("div", { class: "view audit" }, bar, filters.element, list, pages.element), load };
}
