/** Decisions, alone and in a batch. */

import { checkedToken } from "./calls.js";
import { Malformed, refusal, RolegateError } from "./errors.js";
import type * as pb from "./generated/rolegate/auth/v1/auth.js";
import { allowedRoles, type Role, type User, userFrom } from "./user.js";

export function authorizeRequest(token: string, roles: readonly Role[] | undefined): pb.AuthorizeRequest {
  const credential = { accessToken: checkedToken(token), fromCookie: false };
  if (!roles) return { ...credential, requirement: { $case: "anyAuthenticated", value: {} } };
  return { ...credential, requirement: { $case: "roles", value: allowedRoles(roles) } };
}

export function outcomesOf(response: pb.BatchAuthorizeResponse, size: number): (User | RolegateError)[] {
  // Outcomes belong to items by their order: with one missing, users would get another's.
  if (response.outcomes.length !== size) throw new Malformed("not one outcome for each item");
  return response.outcomes.map(({ outcome }) => {
    if (outcome?.$case === "refusalReason") return refusal(outcome.value);
    return refusedOr(() => userFrom(outcome?.value));
  });
}

export function refusedOr<T>(make: () => T): T | RolegateError {
  try {
    return make();
  } catch (error) {
    if (error instanceof RolegateError) return error;
    throw error;
  }
}
