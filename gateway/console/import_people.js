// Finds out who of the people of a file exists, and creates users.

import { explain, query } from "./api.js";
import { Stopped, patientCalls } from "./patient_calls.js";

const WORKERS = 4;
/** The number of names to read. The name itself is among the first, beside those that differ in case and accents. */
const MAX_SIMILAR = 20;

/** Sets `exists` of each person. `finished` is a promise of false if it was stopped. */
export function findExisting(people, progress) {
  const { send, stop } = patientCalls(progress.waits);
  let next = 0;
  async function work() {
    while (next < people.length) {
      const person = people[next];
      next += 1;
      const { users } = await send("GET", query("/users", { username: person.username, sort: "username", limit: MAX_SIMILAR }));
      person.exists = users.some(({ username }) => username === person.username);
      progress.show(next, `${next} of ${people.length}`);
    }
    return true;
  }
  const isStopped = (error) => {
    stop();
    if (error instanceof Stopped) return false;
    throw error;
  };
  return { stop, finished: Promise.all(Array.from({ length: WORKERS }, work)).then(() => true, isStopped) };
}

/** Creates a user, whose password is chosen with a link; then sets the end and adds the user to the groups. */
export async function createPerson({ username, role, groups, until }, send) {
  let user;
  try {
    user = await send("POST", "/users", { body: { username, role }, isOnce: true });
  } catch (error) {
    if (!error.isUncertain) throw error;
    const text = `${explain(error, true)} Import the file again: users who exist are left alone. Then make a new link, and check the end and the groups.`;
    return { state: "unknown", text };
  }
  const path = `/users/${user.id}`;
  const missing = [];
  const complete = async (what, ...request) => {
    try {
      await send(...request);
    } catch (error) {
      missing.push(`${what}: ${error instanceof Stopped ? "stopped before." : explain(error, true)}`);
    }
  };
  if (until) await complete("the end of the account", "PATCH", path, { body: { until } });
  for (const { id, name } of groups) await complete(`the group ${name}`, "PUT", `/groups/${id}/members/${user.id}`, { body: {} });
  const created = `Created with the id ${user.id}`;
  const link = user.password_link;
  return missing.length ? { state: "failed", text: `${created}, but this is missing: ${missing.join(" ")}`, link } : { text: `${created}.`, link };
}
