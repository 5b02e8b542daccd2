// The texts of the page, in the language that the server chose for the person. The console is in English.

import { texts } from "./language.js";

/** Returns the text with this key, in which `{name}` becomes that of `values`. */
export function say(key, values) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** Explains a refusal of the API, by its `detail` if the language has no text for the reason. */
export function sayReason(reason, detail) {
  return texts[`reason.${reason}`] ?? detail;
}

/** The texts whose keys begin with `group` and a dot, by the rest of their keys. */
export function textsOf(group) {
  const start = `${group}.`;
  const ofGroup = Object.entries(texts).filter(([key]) => key.startsWith(start));
  return Object.fromEntries(ofGroup.map(([key, text]) => [key.slice(start.length), text]));
}
