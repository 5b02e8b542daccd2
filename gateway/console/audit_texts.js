// What happened, in words.

import { say, textsOf } from "./texts.js";

export const EVENTS = textsOf("event");
/** The titles of refused sign-ins whose password was right, by reason. */
const REFUSALS = { otp_required: say("refusal.otp_required"), wrong_otp: say("refusal.wrong_otp") };

/** The title of an audit entry. */
export function titleOf({ event, details: { reason } }) {
  const refusal = event === "login_failed" && REFUSALS[reason];
  return refusal || (EVENTS[event] ?? event);
}

/** The details of an audit entry, without who acted. */
export function detailsOf({ details: { by, ...others } }) {
  return Object.entries(others).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ");
}
