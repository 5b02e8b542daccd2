/**
 * Protects handlers from a `Request` to a `Response`, such as those of Next.js, Hono and SvelteKit:
 * `export const GET = requireRole(client, ["author"], (request, user) => new Response(user.username))`.
 */

import type { AuthClient } from "./client.js";
import type { RolegateError } from "./errors.js";
import { bearerToken, decided, errorResponse } from "./http.js";
import { type Requirement, requirementFrom, type RolesOrRequirement } from "./requirement.js";
import type { Role, User } from "./user.js";

/** A handler that gets the request, the user, and after them the other arguments that the framework passes. */
export type Handler<R extends Request, Rest extends unknown[]> = (
  request: R,
  user: User,
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * A protected handler for the framework. It refuses requests with 401, 403, 503 and 504, as the gateway does.
 */
export type Protected<R extends Request, Rest extends unknown[]> = (
  request: R,
  ...rest: Rest
) => Promise<Response>;

/** Lets any user with a valid token pass. */
export function requireUser<R extends Request, Rest extends unknown[]>(
  client: AuthClient,
  handler: Handler<R, Rest>,
): Protected<R, Rest> {
  return protect(client, undefined, handler);
}

/** Lets a request pass if its user has one of these roles now. */
export function requireRole<R extends Request, Rest extends unknown[]>(
  client: AuthClient,
  roles: readonly Role[],
  handler: Handler<R, Rest>,
): Protected<R, Rest> {
  // A caller without types could pass a string, which would count as a list of letters.
  if (!Array.isArray(roles)) throw new TypeError("roles must be a list");
  return protect(client, roles, handler);
}

/**
 * Lets a request pass if its user has one of these roles or is in one of these groups now:
 * `requireAnyOf(client, { roles: ["admin"], groups: ["staff"] }, handler)`.
 */
export function requireAnyOf<R extends Request, Rest extends unknown[]>(
  client: AuthClient,
  requirement: Requirement,
  handler: Handler<R, Rest>,
): Protected<R, Rest> {
  return protect(client, requirementFrom(requirement), handler);
}

/** Returns the response that the gateway gives to this error. */
export function responseOf(error: RolegateError): Response {
  const { status, headers, body } = errorResponse(error);
  return new Response(body, { status, headers });
}

function protect<R extends Request, Rest extends unknown[]>(
  client: AuthClient,
  required: RolesOrRequirement | undefined,
  handler: Handler<R, Rest>,
): Protected<R, Rest> {
  return async (request, ...rest) => {
    const decide = () => client.authorize(bearerToken(request.headers), required);
    const user = await decided(decide, required);
    return user instanceof Error ? responseOf(user) : handler(request, user, ...rest);
  };
}
