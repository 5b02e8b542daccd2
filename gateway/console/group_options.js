// Options to choose a group. The groups are read when somebody needs them.

import { call, query } from "./api.js";
import { el } from "./dom.js";

const PAGE_SIZE = 200;

let groups = [];

/** Reads all groups, and returns them. Throws if they cannot be read. */
export async function readGroups() {
  const all = [];
  let after;
  do {
    const page = await call("GET", query("/groups", { limit: PAGE_SIZE, after }));
    all.push(...page.groups);
    after = page.next;
  } while (after !== null);
  groups = all.sort((one, other) => (one.name < other.name ? -1 : 1));
  return groups;
}

/** Reads all groups for the options. After a failure, those that were read before remain. */
export async function loadGroups() {
  await readGroups().catch(() => {});
}

/** Options whose values are names. `none` is the text of the option for no group. */
export function groupOptions(selected, none) {
  // The group may have been deleted, or not be read yet.
  const isKnown = !selected || groups.some(({ name }) => name === selected);
  const names = [...(isKnown ? [] : [selected]), ...groups.map(({ name }) => name)];
  return [el("option", { value: "" }, none), ...names.map((name) => el("option", { value: name, selected: name === selected }, name))];
}
