// What can be done to many users at once.

import { el, field, plainInput } from "./dom.js";
import { endField, endText } from "./end_field.js";
import { errorAt } from "./form.js";
import { readGroups } from "./group_options.js";
import { roleOptions } from "./roles.js";

/**
 * Each function prepares an action. Its result has the question for `people`, such as "30 users"; an explanation; the
 * fields; and `begin(number)`, which returns the change of one user, or shows at a field why it cannot begin.
 */
export const ACTIONS = {
  Disable: () => ({
    question: (people) => `Disable ${people}?`,
    hint: "Disabled users keep their names and posts, but cannot sign in or use any API key or token.",
    begin: () => async ({ id }, send) => {
      await send("PATCH", `/users/${id}`, { body: { disabled: true } });
      return { text: "Is disabled." };
    },
  }),
  Enable: () => ({
    question: (people) => `Enable ${people}?`,
    begin: () => async ({ id }, send) => {
      const { disabled } = await send("PATCH", `/users/${id}`, { body: { disabled: false } });
      return disabled ? { state: "failed", text: "Stays disabled, because the account has ended." } : { text: "Is enabled." };
    },
  }),
  Role: () => {
    const role = el("select", { name: "role" }, roleOptions("user"));
    return {
      question: (people) => `Change the role of ${people}?`,
      hint: "Admins can do everything here.",
      fields: field("Role", role),
      begin: () => {
        const wanted = role.value;
        return async ({ id }, send) => {
          await send("PUT", `/users/${id}/role`, { body: { role: wanted } });
          return { text: `Has the role ${wanted}.` };
        };
      },
    };
  },
  "Add to group": async () => {
    const { element, chosen } = await groupField();
    const end = endField();
    return {
      question: (people) => `Add ${people} to a group?`,
      hint: "Those who are in the group already get this end, too.",
      fields: [element, end.element],
      begin: () => {
        const [group, until] = [chosen(), end.value];
        if (until && Date.parse(until) <= Date.now()) return errorAt(end.element.querySelector("input"), "End must be in the future.");
        return async ({ id }, send) => {
          await send("PUT", `/groups/${group.id}/members/${id}`, { body: until ? { until } : {} });
          return { text: `Is in ${group.name} ${endText(until)}.` };
        };
      },
    };
  },
  "Remove from group": async () => {
    const { element, chosen } = await groupField();
    return {
      question: (people) => `Remove ${people} from a group?`,
      fields: element,
      begin: () => {
        const group = chosen();
        return async ({ id }, send) => {
          await unlessGone(send("DELETE", `/groups/${group.id}/members/${id}`), /^Membership/);
          return { text: `Is not in ${group.name}.` };
        };
      },
    };
  },
  "Password links": () => ({
    question: (people) => `Make password links for ${people}?`,
    hint: "With a link, a user chooses a password within 24 hours. Earlier links stop working. The new ones are shown once, so save them afterwards.",
    begin: () => async ({ id }, send) => ({ text: "Link made.", link: await send("POST", `/users/${id}/password-link`) }),
  }),
  Delete: () => {
    const typed = plainInput({ name: "number", inputmode: "numeric", required: true });
    return {
      question: (people) => `Delete ${people}?`,
      hint: "Deletes the users with all sessions and API keys. Posts stay without an author, unless the server deletes them.",
      isDangerous: true,
      fields: field("Type the number of users to confirm", typed),
      begin: (number) => {
        if (typed.value.replace(/[\s,.]/g, "") !== String(number)) return errorAt(typed, "The number does not match.");
        return async ({ id }, send) => {
          await unlessGone(send("DELETE", `/users/${id}`), /^User/);
          return { text: "Is deleted." };
        };
      },
    };
  },
};

/** Waits for a removal. That nothing was there is success: an earlier try may have removed it. */
async function unlessGone(removal, what) {
  try {
    await removal;
  } catch (error) {
    if (error.status !== 404 || !what.test(error.message)) throw error;
  }
}

async function groupField() {
  const groups = await readGroups();
  const select = el("select", { name: "group", required: true }, groups.map(({ id, name }) => el("option", { value: id }, name)));
  return { element: field("Group", select, !groups.length && "There are no groups yet."), chosen: () => groups[select.selectedIndex] };
}
