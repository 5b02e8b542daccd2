// API keys: the own ones, and those of another user for an admin.

import { call } from "./api.js";
import { copyOnce } from "./copy.js";
import { credentialList } from "./credentials.js";
import { el, field, fill, plainInput } from "./dom.js";
import { form } from "./form.js";
import { loadRoles, roleOptions, rolesBelow } from "./roles.js";
import { session } from "./session.js";
import { day } from "./times.js";

const DAY = 86_400_000;
const LIFETIMES = { "": "Never", 30: "In 30 days", 90: "In 90 days", 365: "In a year" };
const TEXTS = {
  label: "API keys",
  none: "There are no API keys.",
  end: "Revoke",
  ended: (name) => `${name} is revoked.`,
  all: "Revoke all",
  allEnded: "All keys are revoked.",
};

/** The keys under `path`, each with a button to revoke it. */
export function keyList(path) {
  return credentialList({ path, field: "keys", describe, texts: TEXTS });
}

function describe({ name, prefix, role, expires_at: expires, last_used_at: used, created_by: maker }) {
  const parts = [
    role && `at most ${role}`,
    expires ? `${new Date(expires) < new Date() ? "expired" : "ends"} ${day(expires)}` : "never ends",
    used ? `last used ${day(used)}` : "never used",
    maker && `made by ${maker}`,
  ];
  return { name, content: el("p", {}, name, " ", el("code", {}, `${prefix}…`), el("small", {}, parts.filter(Boolean).join(", "))) };
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
