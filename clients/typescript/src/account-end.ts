/** Sets and removes the ends of accounts. */

import { Malformed } from "./errors.js";
import type { UpdateUserRequest, UpdateUserResponse } from "./generated/rolegate/auth/v1/auth.js";
import { type User, userFrom } from "./user.js";

/** Returns the field for a new end of an account. `null` removes the end, and `undefined` keeps it. */
export function endFor(until: Date | null | undefined): UpdateUserRequest["end"] {
  if (until === undefined) return undefined;
  return until === null ? { $case: "noEnd", value: {} } : { $case: "until", value: until };
}

/** Reads the user. Throws `Malformed` if the account does not have the requested end. */
export function updatedUserFrom(response: UpdateUserResponse, until: Date | null | undefined): User {
  const user = userFrom(response.user);
  // The previous version of the service ignores the end, so the account would not end as the caller expects.
  if (until !== undefined && user.until?.getTime() !== wholeSeconds(until)) {
    throw new Malformed("a user without the requested end");
  }
  return user;
}

/** Returns the time in milliseconds without its fraction of a second, which the service drops. */
function wholeSeconds(time: Date | null): number | undefined {
  return time === null ? undefined : Math.floor(time.getTime() / 1000) * 1000;
}
