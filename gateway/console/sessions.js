// Sessions: those of the signed-in user, and for admins those of others.

import { credentialList } from "./credentials.js";
import { el } from "./dom.js";
import { say } from "./texts.js";
import { moment } from "./times.js";

/** The first that a `User-Agent` contains is the browser; most also contain some of those after it. */
const BROWSERS = { Edg: "Edge", OPR: "Opera", Firefox: "Firefox", Chrome: "Chrome", Safari: "Safari" };
const SYSTEMS = { Windows: "Windows", Android: "Android", iPhone: "iPhone", iPad: "iPad", "Mac OS": "macOS", Linux: "Linux" };
const MAX_AGENT = 60;

/** The sessions under `path`. */
export function sessionList(path) {
  const isOwn = path.startsWith("/profile/");
  const texts = {
    label: say("sessions.title"),
    none: say("sessions.none"),
    end: say("sessions.end"),
    ended: (name) => say("sessions.ended", { name }),
    all: say(isOwn ? "sessions.end_others" : "sessions.end_all"),
    allEnded: say(isOwn ? "sessions.others_ended" : "sessions.all_ended"),
  };
  return credentialList({ path, field: "sessions", describe, texts });
}

function describe({ name, user_agent: agent, client_address: address, created_at: created, last_used_at: used, expires_at: expires, current }) {
  const shown = name ?? device(agent);
  const parts = [
    name && agent && device(agent),
    address && say("sessions.from", { address }),
    say("sessions.since", { time: moment(created) }),
    used ? say("sessions.last", { time: moment(used) }) : say("sessions.never"),
    say("sessions.ends", { time: moment(expires) }),
  ];
  const mark = current && el("span", { class: "chip" }, say("sessions.this"));
  return { name: shown, content: el("p", {}, shown, mark, el("small", {}, parts.filter(Boolean).join(", "))) };
}

/** Shortens the `User-Agent` of a browser to its name and system. */
function device(agent) {
  if (!agent) return say("sessions.unnamed");
  const first = (names) => names[Object.keys(names).find((name) => agent.includes(name))];
  const [browser, system] = [first(BROWSERS), first(SYSTEMS)];
  if (agent.startsWith("Mozilla/") && browser && system) return say("sessions.browser", { browser, system });
  return agent.length > MAX_AGENT ? `${agent.slice(0, MAX_AGENT)}…` : agent;
}
