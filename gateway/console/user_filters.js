// The filters of the list of users: a search, the role, and whether they are disabled.

import { parameters } from "./address.js";
import { el, fill, plainInput } from "./dom.js";
import { loadRoles, roleOptions } from "./roles.js";
import { typing } from "./typing.js";

const TYPING_PAUSE = 200;
const STATES = { "": "All users", false: "Enabled", true: "Disabled" };

/** `changed(values, isTyping)` runs after a change. `isTyping`: it continues the previous search. */
export function userFilters(changed) {
  const search = plainInput({ type: "search", placeholder: "Search names", "aria-label": "Search names", maxlength: 255 });
  const role = el("select", { "aria-label": "Role" }, roleOptions("", "All roles"));
  const states = Object.entries(STATES).map(([value, text]) => el("option", { value }, text));
  const disabled = el("select", { "aria-label": "Enabled or disabled" }, states);
  const loaded = loadRoles().then(() => fill(role, roleOptions(role.value, "All roles")));

  const values = () => ({ search: search.value, role: role.value, disabled: disabled.value });
  const typed = typing([search], TYPING_PAUSE, (isTyping) => changed(values(), isTyping));
  for (const control of [role, disabled]) control.addEventListener("change", typed.send);
  return {
    element: el("div", { class: "filters", role: "search" }, search, role, disabled),
    loaded,
    /** Takes the values from the address, except a search that is being typed. */
    read() {
      const given = parameters();
      if (!typed.isPending && search.value !== (given.search ?? "")) search.value = given.search ?? "";
      if (role.value !== (given.role ?? "")) fill(role, roleOptions(given.role, "All roles"));
      disabled.value = Object.hasOwn(STATES, given.disabled) ? given.disabled : "";
      return values();
    },
    clear() {
      search.value = role.value = disabled.value = "";
      typed.send();
      search.focus();
    },
    /** The filters in words, such as ` whose name contains “ma”, with the role author`. */
    get text() {
      const parts = [
        search.value && `whose name contains “${search.value}”`,
        role.value && `with the role ${role.value}`,
        disabled.value && `currently ${STATES[disabled.value].toLowerCase()}`,
      ];
      return parts.filter(Boolean).map((part, number) => (number ? `, ${part}` : ` ${part}`)).join("");
    },
  };
}
