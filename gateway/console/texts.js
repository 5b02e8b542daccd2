// The texts of the page in the language of the person. The server chooses it; that of the console is English.

import { texts } from "./language.js";

/** The text with this key. `{name}` in it is one of `values`. */
export function say(key, values) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** What a refusal of the API means; its own text where the language has none for the reason. */
export function sayReason(reason, detail) {
  return texts[`reason.${reason}`] ?? detail;
}

/** The texts whose keys begin with `group` and a dot, by the rest of their keys. */
export function textsOf(group) {
  const start = `${group}.`;
  const ofGroup = Object.entries(texts).filter(([key]) => key.startsWith(start));
  return Object.fromEntries(ofGroup.map(([key, text]) => [key.slice(start.length), text]));
}
