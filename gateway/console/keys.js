// API keys: the own ones, and those of another user for an admin.

import { call, explain } from "./api.js";
import { copyOnce } from "./copy.js";
import { el, field, fill, plainInput } from "./dom.js";
import { confirmed, form, outcome } from "./form.js";
import { loadRoles, roleOptions, rolesBelow } from "./roles.js";
import { session } from "./session.js";
import { failure } from "./states.js";

const DAY = 86_400_000;
const LIFETIMES = { "": "Never", 30: "In 30 days", 90: "In 90 days", 365: "In a year" };

/** The keys under `path`, each with a button to revoke it. */
export function keyList(path) {
  const element = el("div", { class: "keys", tabindex: "-1", role: "group", "aria-label": "API keys" });
  const message = outcome();
  async function load() {
    try {
      const { keys } = await call("GET", path);
      const none = !keys.length && el("small", {}, "There are no API keys.");
      const all = keys.length > 1 && confirmed("Revoke all", () => revoke("All keys are revoked."));
      fill(element, none || el("ul", {}, keys.map(item)), all, message.place);
    } catch (error) {
      fill(element, failure(explain(error), load));
    }
  }
  const item = (key) => el("li", {}, describe(key), confirmed("Revoke", () => revoke(`${key.name} is revoked.`, key.id)));
  async function revoke(text, id) {
    await call("DELETE", id ? `${path}/${id}` : path);
    await load();
    element.focus();
    message.good(text);
  }
  return { element, load };
}

function describe({ name, prefix, role, expires_at: expires, last_used_at: used, created_by: maker }) {
  const day = (time) => new Date(time).toLocaleDateString([], { dateStyle: "medium" });
  const parts = [
    role && `at most ${role}`,
    expires ? `${new Date(expires) < new Date() ? "expired" : "ends"} ${day(expires)}` : "never ends",
    used ? `last used ${day(used)}` : "never used",
    maker && `made by ${maker}`,
  ];
  return el("p", {}, name, " ", el("code", {}, `${prefix}…`), el("small", {}, parts.filter(Boolean).join(", ")));
}

/** A form that creates a key under `path` and shows it once. Only own keys have a role by default. */
export function newKey(list, path = "/profile/keys") {
  const place = el("div", {});
  const isOwn = path === "/profile/keys";
  const own = session.user.role;
  const options = (chosen) => (isOwn ? roleOptions(chosen, "As yours", rolesBelow(own)) : roleOptions(chosen, "", rolesBelow("admin")));
  const roles = el("select", { name: "role" }, options(isOwn ? "" : "user"));
  // The list of users, which asks too, may not have been shown yet.
  if (isOwn && own === "admin") loadRoles().then(() => fill(roles, options(roles.value)));
  const lifetimes = Object.entries(LIFETIMES).map(([days, text]) => el("option", { value: days }, text));
  const { element } = form({
    name: "New API key",
    fields: [
      field("Name", plainInput({ name: "name", required: true }), "What the key is for."),
      field("Ends", el("select", { name: "days" }, lifetimes.reverse())),
      field("Role", roles),
    ],
    submit: "Create key",
    act: async ({ elements: { name, days, role } }) => {
      const body = { name: name.value };
      if (days.value) body.expires_at = new Date(Date.now() + days.value * DAY).toISOString().replace(/\.\d+/, "");
      if (role.value) body.role = role.value;
      const { key } = await call("POST", path, { body });
      fill(place, copyOnce(`API key ${name.value}`, key));
      place.querySelector("input").focus();
      name.form.reset();
      await list.load();
    },
  });
  return [element, place];
}
