// Times as a person reads them.

import { el } from "./dom.js";

const format = (time, options) => new Date(time).toLocaleString([], options);
export const day = (time) => format(time, { dateStyle: "medium" });
export const moment = (time) => format(time, { dateStyle: "medium", timeStyle: "short" });

/** A cell with a day; the exact time comes with the pointer. `unknown`: what a screen reader says of a dash. */
export function dayOr(time, unknown) {
  if (!time) return [el("span", { "aria-hidden": "true" }, "–"), el("span", { class: "unseen" }, unknown)];
  return el("time", { datetime: time, title: moment(time) }, day(time));
}
