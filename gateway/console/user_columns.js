// The columns of the list of users, and which of them are shown.

import { button, el } from "./dom.js";
import { disclosure } from "./disclosure.js";
import { dayOr } from "./times.js";

/**
 * `sort` is the order of the API by this column. `cell` shows a user, and `text` is the same for files. The name and the
 * actions are always shown.
 */
const COLUMNS = {
  id: { title: "Id", sort: "id", field: "id", cell: ({ id }) => id },
  name: { title: "Name", sort: "username" },
  role: { title: "Role", field: "role", cell: ({ role }) => role },
  groups: { title: "Groups", field: "groups", cell: ({ groups }) => groups?.join(", "), text: ({ groups }) => groups?.join(" ") },
  second_factor: { title: "Second factor", field: "second_factor", cell: ({ second_factor: isOn }) => (isOn ? "on" : "off") },
  password: { title: "Password", field: "has_password", cell: ({ has_password: hasOne }) => hasOne === false && "none" },
  last_sign_in: { title: "Last sign-in", sort: "last_sign_in_at", field: "last_sign_in_at", cell: (user) => dayOr(user.last_sign_in_at, "none recorded") },
  ends: { title: "End", sort: "until", field: "until", cell: ({ until }) => dayOr(until, "none") },
  created: { title: "Created", field: "created_at", cell: (user) => dayOr(user.created_at, "unknown") },
};
const DEFAULT = ["id", "role", "groups", "last_sign_in"];
const CHOICES = Object.keys(COLUMNS).filter((name) => name !== "name");

/** The orders that the API knows. */
const SORTS = Object.values(COLUMNS).flatMap(({ sort }) => (sort ? [sort, `-${sort}`] : []));

/** Returns the order in the address; undefined for the usual one, or if the API does not know it. */
export function sortOf({ sort }) {
  return SORTS.includes(sort) && sort !== "id" ? sort : undefined;
}

/** Returns the columns in the address, without those that do not exist, and with the name. */
export function columnsOf({ columns }) {
  const wanted = columns === undefined ? DEFAULT : columns.split(",");
  return Object.keys(COLUMNS).filter((name) => name === "name" || wanted.includes(name));
}

/** The cells of a user in these columns, of which `name` is given. */
export function cellsOf(user, columns, name) {
  return columns.map((column) => (column === "name" ? name : el("td", { class: column }, COLUMNS[column].cell(user))));
}

/** The heading of a column, with a button if the list can be sorted by it. `mark(sort)` shows the current order. */
export function columnHeading(name, sortBy) {
  const { title, sort } = COLUMNS[name];
  const heading = el("th", { scope: "col", class: name }, title);
  if (!sort) return { heading, mark() {} };
  heading.replaceChildren(button(title, {}, () => sortBy(sort)));
  const mark = (current = "id") => {
    const direction = { [sort]: "ascending", [`-${sort}`]: "descending" }[current];
    if (direction) heading.setAttribute("aria-sort", direction);
    else heading.removeAttribute("aria-sort");
  };
  return { heading, mark };
}

/** A button that shows a checkbox for each column. `changed(columns)` gets them as they are in the address. */
export function columnMenu(changed) {
  const boxes = CHOICES.map((name) => el("input", { type: "checkbox", name, onchange: () => choose() }));
  const labels = boxes.map((box) => el("label", {}, box, COLUMNS[box.name].title));
  const menu = el("fieldset", { class: "choices" }, el("legend", { class: "unseen" }, "Columns"), labels);
  const choose = () => {
    const names = boxes.filter(({ checked }) => checked).map(({ name }) => name);
    changed(names.join() === DEFAULT.join() ? undefined : names.join() || "none");
  };
  return {
    menu,
    trigger: disclosure("Columns", menu, { class: "disclosure small columns" }),
    read(columns) {
      for (const box of boxes) box.checked = columns.includes(box.name);
    },
  };
}

/** The header and the rows of a file with these columns. The names are those of the API. */
export function fileOf(users, columns) {
  const shown = columns.filter((name) => !["id", "name"].includes(name)).map((name) => COLUMNS[name]);
  const header = ["id", "username", "disabled", ...shown.map(({ field }) => field)];
  const row = (user) => [user.id, user.username, user.disabled, ...shown.map(({ field, text }) => (text ? text(user) : user[field]))];
  return [header, users.map(row)];
}
