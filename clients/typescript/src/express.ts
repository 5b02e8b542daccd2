/** Middleware for Express, and for every framework that takes `(request, response, next)`. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthClient } from "./client.js";
import { authenticate, type ErrorResponse, identify } from "./http.js";
import { ProxyIdentity } from "./identity.js";
import { type Requirement, requirementFrom, type RolesOrRequirement } from "./requirement.js";
import type { Role } from "./user.js";

export { userOf } from "./http.js";

/** Middleware that refuses requests with 401, 403, 503 and 504, as the gateway does. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Lets any user with a valid token pass. */
export function requireUser(client: AuthClient): Middleware {
  return middleware(client, undefined);
}

/** Lets a request pass if its user has one of these roles now. */
export function requireRole(client: AuthClient, ...roles: Role[]): Middleware {
  return middleware(client, roles);
}

/**
 * Lets a request pass if its user has one of these roles or is in one of these groups now:
 * `requireAnyOf(client, { roles: ["admin"], groups: ["staff"] })`.
 */
export function requireAnyOf(client: AuthClient, requirement: Requirement): Middleware {
  return middleware(client, requirementFrom(requirement));
}

/**
 * Lets a request pass if a proxy at one of `peers` names its user. With roles or a requirement, the user must meet
 * it.
 */
export function requireProxyUser(
  peers: readonly string[],
  ...required: Role[] | [Requirement]
): Middleware {
  const identity = new ProxyIdentity(peers, ...required);
  return middlewareOf((request) => identify(request, request, identity));
}

function middleware(client: AuthClient, required: RolesOrRequirement | undefined): Middleware {
  return middlewareOf((request) => authenticate(request, request, client, required));
}

function middlewareOf(decide: (request: IncomingMessage) => Promise<ErrorResponse | undefined>): Middleware {
  return (request, response, next) => {
    decide(request).then((refused) => {
      if (!refused) return next();
      response.writeHead(refused.status, refused.headers).end(refused.body);
      // The `catch` also handles errors that `next` throws.
    }).catch(next);
  };
}
