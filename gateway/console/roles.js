// The roles of the service, and options to choose one.

import { call } from "./api.js";
import { el } from "./dom.js";

let roles = ["user", "author", "admin"];

/** Asks for the roles, which only admins may. After a failure, the three that always exist remain. */
export async function loadRoles() {
  const answer = await call("GET", "/roles").catch(() => undefined);
  roles = answer?.roles ?? roles;
}

/** The roles that a key of such a user can have, besides the user's own. */
export function rolesBelow(role) {
  if (role === "admin") return roles.filter((it) => it !== "admin");
  return role === "user" ? [] : ["user"];
}

/** The options of a role; `none` is the text of the option for no role. */
export function roleOptions(selected, none, choices = roles) {
  // A user may have a role that the service no longer has.
  const all = !selected || choices.includes(selected) ? choices : [...choices, selected];
  const option = (role, text) => el("option", { value: role, selected: role === selected }, text ?? role);
  return [none && option("", none), ...all.map((role) => option(role))];
}
