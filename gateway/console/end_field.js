// The end of a membership or of an account: a field for it, and its text.

import { el, field } from "./dom.js";
import { moment } from "./times.js";

const LATEST = "9999-12-31T23:59";
const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();

/** Returns the end in words, such as "until 4 Dec 2026, 17:00". */
export function endText(until) {
  return until ? `until ${moment(until)}` : "without an end";
}

/** A field whose `value` is the end for the API, or null. `until` is the stored end. */
export function endField(until) {
  const input = el("input", { type: "datetime-local", name: "until", max: LATEST, value: until && localTime(until) });
  const shown = input.value;
  return {
    element: field("Ends", input, `In your time zone, ${timeZone}. Leave it empty for no end.`),
    get value() {
      // The input shows no seconds, and a local time can occur twice. So an end that was not edited is sent as it is stored.
      if (until && input.value === shown) return until;
      return input.value ? new Date(input.value).toISOString().replace(/\.\d+/, "") : null;
    },
  };
}

/** Returns the time as the input takes it: to the minute, in the local time zone, which it does not name. */
function localTime(time) {
  const date = new Date(time);
  date.setMinutes(date.getMinutes() - date.getTimezoneOffset());
  return date.toISOString().slice(0, LATEST.length);
}
