/** Reads bearer tokens from HTTP requests, and turns errors into HTTP responses (RFC 6750, RFC 9110). */

import type { IncomingMessage } from "node:http";
import type { AuthClient } from "./client.js";
import { NotAuthenticated, RolegateError } from "./errors.js";
import type { ProxyIdentity } from "./identity.js";
import { describeRequirement, type RolesOrRequirement } from "./requirement.js";
import type { User } from "./user.js";

const users = new WeakMap<object, User>();
/**
 * The time of `performance.now()` until which mistakes about each requirement are not logged again. A program
 * has few requirements.
 */
const logged = new Map<string, number>();

/** Returns the user of a request that `requireUser`, `requireRole`, `requireAnyOf` or `requireProxyUser` has let pass. */
export function userOf(request: object): User {
  const user = users.get(request);
  if (!user) throw new Error("the route has none of requireUser, requireRole, requireAnyOf and requireProxyUser");
  return user;
}

/** The response to a refused request. */
export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/**
 * Stores the user of the bearer token in `head` for `userOf(request)`, or returns the response that refuses the
 * request.
 */
export async function authenticate(
  request: object,
  head: Pick<IncomingMessage, "rawHeaders">,
  client: AuthClient,
  required: RolesOrRequirement | undefined,
): Promise<ErrorResponse | undefined> {
  const decide = () => client.authorize(bearerToken(head.rawHeaders), required);
  return remember(request, await decided(decide, required));
}

/**
 * Stores the user whom a proxy names in `head` for `userOf(request)`, or returns the response that refuses the
 * request.
 */
export async function identify(
  request: object,
  head: IncomingMessage,
  identity: ProxyIdentity,
): Promise<ErrorResponse | undefined> {
  return remember(request, await decided(async () => identity.userOf(head), undefined));
}

function remember(request: object, outcome: User | RolegateError): ErrorResponse | undefined {
  if (outcome instanceof RolegateError) return errorResponse(outcome);
  users.set(request, outcome);
  return undefined;
}

/** Runs a decision, and returns the user or the error. Also logs a mistake in the requirement. */
export async function decided(
  decide: () => Promise<User>,
  required: RolesOrRequirement | undefined,
): Promise<User | RolegateError> {
  try {
    return await decide();
  } catch (error) {
    if (!(error instanceof RolegateError)) throw error;
    if (error.status === 500) logMistake(error, required);
    return error;
  }
}

/**
 * Logs a mistake of this service that no client can fix, such as requiring a role or a group that auth-service does
 * not have.
 *
 * Each requirement is logged at most once a minute.
 */
function logMistake(error: RolegateError, required: RolesOrRequirement | undefined): void {
  const wanted = describeRequirement(required);
  const now = performance.now();
  if (now < (logged.get(wanted) ?? now)) return;
  logged.set(wanted, now + 60_000);
  console.error(`rolegate: cannot decide about a request that needs ${wanted}: ${error.message}`);
}

/**
 * Returns the token in the `Authorization` of a request. Throws `NotAuthenticated` if there is none.
 *
 * For a request of Node, pass `rawHeaders`, because Node drops repeated headers from `headers`.
 */
export function bearerToken(headers: readonly string[] | Headers): string {
  const values = authorizations(headers);
  const match = values.length === 1 ? /^bearer +([!-~]+) *$/i.exec(values[0] ?? "") : null;
  if (!match?.[1]) throw new NotAuthenticated();
  return match[1];
}

function authorizations(headers: readonly string[] | Headers): string[] {
  // `Headers` joins repeated headers with a comma and a space, which no token has.
  if (headers instanceof Headers) return [headers.get("authorization") ?? ""];
  return headers.filter(
    (_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === "authorization",
  );
}

/** Returns the response that the gateway gives to this error. */
export function errorResponse(error: RolegateError): ErrorResponse {
  const { status, reason } = error;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "rolegate-reason": reason,
  };
  if (status === 401) {
    const wasPresented = reason === "TOKEN_INVALID" || reason === "TOKEN_USER_NOT_FOUND";
    headers["www-authenticate"] = wasPresented ? 'Bearer error="invalid_token"' : "Bearer";
  } else if (status === 429 || status === 503) {
    // The value is in whole seconds, rounded up, so that clients do not try again too early.
    headers["retry-after"] = String(Math.max(1, Math.ceil(error.retryAfter ?? 1)));
  }
  return { status, headers, body: JSON.stringify({ detail: error.detail }) };
}
