// The filters of the list of users: those that are used often, and behind a button all others.

import { parameters } from "./address.js";
import { DATE, midnight } from "./date_filter.js";
import { disclosure } from "./disclosure.js";
import { el, field, fill, plainInput } from "./dom.js";
import { groupOptions, loadGroups } from "./group_options.js";
import { loadRoles, roleOptions } from "./roles.js";
import { day } from "./times.js";
import { typing } from "./typing.js";

const TYPING_PAUSE = 200;
const STATES = { "": "All users", false: "Enabled", true: "Disabled" };
const SECOND_FACTORS = { "": "With or without", true: "With a second factor", false: "Without a second factor" };
const PASSWORDS = { "": "With or without", true: "With a password", false: "No password" };
/** The filters behind the button. */
const MORE = ["group", "second_factor", "has_password", "not_since", "ends_before"];

function choice(name, texts, attributes) {
  const options = Object.entries(texts).map(([value, text]) => el("option", { value }, text));
  return el("select", { name, ...attributes }, options);
}

/** `changed(values, isTyping)` runs after a change. `isTyping`: it continues the previous search. */
export function userFilters(changed) {
  const controls = {
    search: plainInput({ type: "search", placeholder: "Search names", "aria-label": "Search names", maxlength: 255 }),
    role: el("select", { "aria-label": "Role" }, roleOptions("", "All roles")),
    disabled: choice("disabled", STATES, { "aria-label": "Enabled or disabled" }),
    group: el("select", { name: "group" }, groupOptions("", "Any or none")),
    second_factor: choice("second_factor", SECOND_FACTORS),
    has_password: choice("has_password", PASSWORDS),
    not_since: el("input", { type: "date", name: "not_since", max: "9999-12-31" }),
    ends_before: el("input", { type: "date", name: "ends_before", max: "9999-12-31" }),
  };
  const { search, role, disabled, group, second_factor: factor, has_password: password, not_since: since, ends_before: before } = controls;
  const loaded = loadRoles().then(() => fill(role, roleOptions(role.value, "All roles")));
  const more = el(
    "div",
    { class: "more", role: "group", "aria-label": "More filters" },
    field("Group", group),
    field("Second factor", factor),
    field("Password", password),
    field("Not signed in since", since),
    field("Account ends before", before),
  );
  more.addEventListener("shown", () => loadGroups().then(() => fill(group, groupOptions(group.value, "Any or none"))));
  const trigger = disclosure("More filters", more);

  const values = () => Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, valueOf(control)]));
  const typed = typing([search], TYPING_PAUSE, (isTyping) => changed(values(), isTyping));
  for (const control of Object.values(controls)) if (control !== search) control.addEventListener("change", typed.send);
  return {
    element: el("div", { class: "filters", role: "search" }, search, role, disabled, trigger),
    more,
    loaded,
    values,
    /** Takes the values from the address, except a search that is being typed. */
    read() {
      const given = parameters();
      for (const [name, control] of Object.entries(controls)) {
        const wanted = given[name] ?? "";
        if (valueOf(control) === wanted || (control === search && typed.isPending)) continue;
        if (control === role) fill(role, roleOptions(wanted, "All roles"));
        if (control === group) fill(group, groupOptions(wanted, "Any or none"));
        control.value = wanted;
        // A select without such an option is empty then.
        if (control.selectedIndex < 0) control.value = "";
      }
      const active = MORE.filter((name) => valueOf(controls[name])).length;
      trigger.textContent = active ? `More filters (${active})` : "More filters";
      return values();
    },
    clear() {
      for (const control of Object.values(controls)) control.value = "";
      typed.send();
      search.focus();
    },
    /** The filters in words, such as ` whose name contains “ma”, with the role author`. */
    get text() {
      const words = (texts, value) => value && texts[value].toLowerCase().replace(/^no /, "without a ");
      const date = (value) => value && day(`${value}T00:00`);
      const parts = [
        search.value && `whose name contains “${search.value}”`,
        role.value && `with the role ${role.value}`,
        disabled.value && `currently ${STATES[disabled.value].toLowerCase()}`,
        group.value && `in the group ${group.value}`,
        words(SECOND_FACTORS, factor.value),
        words(PASSWORDS, password.value),
        valueOf(since) && `not signed in since ${date(since.value)}`,
        valueOf(before) && `whose account ends before ${date(before.value)}`,
      ];
      return parts.filter(Boolean).map((part, number) => (number ? `, ${part}` : ` ${part}`)).join("");
    },
  };
}

function valueOf({ type, value }) {
  return type === "date" && !DATE.test(value) ? "" : value;
}

/** Returns the filters as the API takes them: a date begins at midnight of this browser. */
export function filtersForApi(values) {
  const { not_since: since, ends_before: before } = values;
  return { ...values, not_since: since && midnight(since), ends_before: before && midnight(before) };
}
