/** Sends decisions, alone or in a batch, and converts their outcomes. */

import type { Client } from "@grpc/grpc-js";
import { call, checkedToken, type Context, sharedMetadata } from "./calls.js";
import { Malformed, refusal, RolegateError } from "./errors.js";
import type * as pb from "./generated/rolegate/auth/v1/auth.js";
import { AUTHORIZE, BATCH_AUTHORIZE } from "./methods.js";
import { messageFor, type RolesOrRequirement } from "./requirement.js";
import { type User, userFrom } from "./user.js";

/** A decision that may share a call. */
export interface Decision {
  readonly item: pb.AuthorizeRequest;
  readonly context: Context;
}

export function authorizeRequest(
  token: string,
  required: RolesOrRequirement | undefined,
): pb.AuthorizeRequest {
  const credential = { accessToken: checkedToken(token), fromCookie: false };
  // A caller without types could pass `null`.
  if (required === undefined || required === null) {
    return { ...credential, requirement: { $case: "anyAuthenticated", value: {} } };
  }
  return { ...credential, requirement: { $case: "roles", value: messageFor(required) } };
}

export function outcomesOf(response: pb.BatchAuthorizeResponse, size: number): (User | RolegateError)[] {
  // Outcomes belong to items by their order. If one is missing, users would get the outcomes of others.
  if (response.outcomes.length !== size) throw new Malformed("not one outcome for each item");
  return response.outcomes.map(({ outcome }) => {
    if (outcome?.$case === "refusalReason") return refusal(outcome.value);
    return refusedOr(() => userFrom(outcome?.value));
  });
}

/**
 * Sends one decision as an `Authorize`, or several as a `BatchAuthorize`, and returns their outcomes in order.
 */
export async function decide(
  client: Client,
  service: string,
  members: Decision[],
  deadline: number,
): Promise<(User | RolegateError)[]> {
  const metadata = sharedMetadata(members.map(({ context }) => context));
  const items = members.map(({ item }) => item);
  const [first] = items;
  if (first && items.length === 1) {
    const response = await call(client, service, AUTHORIZE, first, metadata, deadline);
    return [userFrom(response.user)];
  }
  const response = await call(client, service, BATCH_AUTHORIZE, { items }, metadata, deadline);
  return outcomesOf(response, items.length);
}

export function refusedOr<T>(make: () => T): T | RolegateError {
  try {
    return make();
  } catch (error) {
    if (error instanceof RolegateError) return error;
    throw error;
  }
}
