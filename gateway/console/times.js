// Formats times for people.

import { el } from "./dom.js";

const format = (time, options) => new Date(time).toLocaleString([], options);
export const day = (time) => format(time, { dateStyle: "medium" });
export const moment = (time) => format(time, { dateStyle: "medium", timeStyle: "short" });
export const second = (time) => format(time, { dateStyle: "medium", timeStyle: "medium" });

/** A day, whose tooltip has the time; or a dash, which screen readers read as `unknown`. */
export function dayOr(time, unknown) {
  if (!time) return [el("span", { "aria-hidden": "true" }, "–"), el("span", { class: "unseen" }, unknown)];
  return el("time", { datetime: time, title: moment(time) }, day(time));
}
