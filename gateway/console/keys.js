// API keys: those of the signed-in user, and for admins those of others.

import { call } from "./api.js";
import { copyOnce } from "./copy.js";
import { credentialList } from "./credentials.js";
import { el, field, fill, plainInput } from "./dom.js";
import { form } from "./form.js";
import { loadRoles, roleOptions, rolesBelow } from "./roles.js";
import { session } from "./session.js";
import { say } from "./texts.js";
import { day } from "./times.js";

const DAY = 86_400_000;
const LIFETIMES = { "": say("keys.never"), 30: say("keys.days", { days: 30 }), 90: say("keys.days", { days: 90 }), 365: say("keys.year") };
const TEXTS = {
  label: say("keys.title"),
  none: say("keys.none"),
  end: say("keys.revoke"),
  ended: (name) => say("keys.revoked", { name }),
  all: say("keys.revoke_all"),
  allEnded: say("keys.all_revoked"),
};

/** The keys under `path`, each with a button to revoke it. */
export function keyList(path) {
  return credentialList({ path, field: "keys", describe, texts: TEXTS });
}

function describe({ name, prefix, role, expires_at: expires, last_used_at: used, created_by: maker }) {
  const parts = [
    role && say("keys.role", { role }),
    expires ? say(new Date(expires) < new Date() ? "keys.expired" : "keys.ends", { day: day(expires) }) : say("keys.never_ends"),
    used ? say("keys.last", { day: day(used) }) : say("keys.never_used"),
    maker && say("keys.by", { maker }),
  ];
  return { name, content: el("p", {}, name, " ", el("code", {}, `${prefix}…`), el("small", {}, parts.filter(Boolean).join(", "))) };
}

/** A form that creates a key under `path` and shows it once. Only one's own keys may be created without a role. */
export function newKey(list, path = "/profile/keys") {
  const place = el("div", {});
  const isOwn = path === "/profile/keys";
  const own = session.user.role;
  const options = (chosen) => (isOwn ? roleOptions(chosen, say("keys.as_yours"), rolesBelow(own)) : roleOptions(chosen, "", rolesBelow("admin")));
  const roles = el("select", { name: "role" }, options(isOwn ? "" : "user"));
  // Loads the roles, for which otherwise only the list of users asks.
  if (isOwn && own === "admin") loadRoles().then(() => fill(roles, options(roles.value)));
  const lifetimes = Object.entries(LIFETIMES).map(([days, text]) => el("option", { value: days }, text));
  const { element } = form({
    name: say("keys.new"),
    fields: [
      field(say("keys.name"), plainInput({ name: "name", required: true }), say("keys.name_hint")),
      field(say("keys.end"), el("select", { name: "days" }, lifetimes.reverse())),
      field(say("account.role"), roles),
    ],
    submit: say("keys.create"),
    act: async ({ elements: { name, days, role } }) => {
      const body = { name: name.value };
      if (days.value) body.expires_at = new Date(Date.now() + days.value * DAY).toISOString().replace(/\.\d+/, "");
      if (role.value) body.role = role.value;
      const { key } = await call("POST", path, { body });
      fill(place, copyOnce(say("keys.made", { name: name.value }), key));
      place.querySelector("input").focus();
      name.form.reset();
      await list.load();
    },
  });
  return [element, place];
}
