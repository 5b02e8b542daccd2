// The table of the list of users: headings that sort, and a checkbox for each user and for the page.

import { el, fill } from "./dom.js";
import { session } from "./session.js";
import { columnHeading } from "./user_columns.js";
import { userRow } from "./user_row.js";

/** `sortBy(sort)` sorts the list, and `open(user, show)` opens the user's dialog; `show(changed)` updates the row. */
export function userTable({ selection, sortBy, open }) {
  const caption = el("caption", { class: "unseen" });
  const head = el("tr", {});
  const body = el("tbody", {});
  const element = el("table", { class: "users" }, caption, el("thead", {}, head), body);
  const page = el("input", { type: "checkbox", "aria-label": "Select all users of this page", onchange: () => selection.change(users(), page.checked, users()) });
  let headings = [];
  let rows = [];
  let shown;

  const users = () => rows.map(({ user }) => user);

  function row(user, columns) {
    const made = userRow(user, columns, {
      open: () => open(user, made.show),
      selected: (isSelected) => selection.change([user], isSelected, users()),
    });
    return made;
  }

  /** Focuses the same part of the row of the same user, or the table if the user is shown no longer. */
  function keepFocus({ user: { id } }, isBox) {
    const same = rows.find(({ user }) => user.id === id);
    const goal = isBox ? same?.box : same?.element.querySelector("button");
    (goal ?? page).focus();
  }

  function showHead(columns) {
    // A heading that is replaced would lose the focus.
    if (shown === columns.join()) return;
    shown = columns.join();
    headings = columns.map((name) => columnHeading(name, sortBy));
    const actions = el("th", { scope: "col", class: "end" }, "Actions");
    fill(head, el("td", { class: "select" }, page), headings.map(({ heading }) => heading), actions);
  }

  return {
    element,
    /** `text` says what the users have in common. */
    show(users, columns, sort, text) {
      caption.textContent = text;
      showHead(columns);
      for (const { mark } of headings) mark(sort);
      const focused = document.activeElement;
      const before = rows.find(({ element: line }) => line.contains(focused));
      rows = users.map((user) => row(user, columns));
      fill(body, rows.map(({ element: line }) => line));
      this.showSelection();
      if (before) keepFocus(before, focused === before.box);
    },
    showSelection() {
      const own = session.user.id;
      for (const { box, user } of rows) box.checked = selection.has(user);
      const others = rows.filter(({ user }) => user.id !== own);
      const checked = others.filter(({ box }) => box.checked).length;
      page.checked = checked > 0 && checked === others.length;
      page.indeterminate = checked > 0 && !page.checked;
      page.disabled = !others.length;
    },
    /** Whether every user of the page is selected who can be. */
    get isPageSelected() {
      return page.checked;
    },
  };
}
