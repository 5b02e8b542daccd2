// The roles of the service, and choices of them.

import { call } from "./api.js";
import { el } from "./dom.js";

let roles = ["user", "author", "admin"];

/** Asks for the roles, which only admins may. Without an answer, those stay that always exist. */
export async function loadRoles() {
  const answer = await call("GET", "/roles").catch(() => undefined);
  roles = answer?.roles ?? roles;
}

/** What an API key of a user with this role can have at most; the user's own is the default. */
export function rolesBelow(role) {
  if (role === "admin") return roles.filter((it) => it !== "admin");
  return role === "user" ? [] : ["user"];
}

/** The options of a role; `none` is the text of the option for no role. */
export function roleOptions(selected, none, choices = roles) {
  // A user may have a role that is not of the service any more.
  const all = !selected || choices.includes(selected) ? choices : [...choices, selected];
  const option = (role, text) => el("option", { value: role, selected: role === selected }, text ?? role);
  return [none && option("", none), ...all.map((role) => option(role))];
}
