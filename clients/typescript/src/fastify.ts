/** Hooks that protect routes of Fastify: `{ onRequest: requireRole(client, "author") }`. */

import type { IncomingMessage } from "node:http";
import type { AuthClient } from "./client.js";
import { authenticate, type ErrorResponse, identify } from "./http.js";
import { ProxyIdentity } from "./identity.js";
import { type Requirement, requirementFrom, type RolesOrRequirement } from "./requirement.js";
import type { Role } from "./user.js";

export { userOf } from "./http.js";

/** The part of Fastify's reply that a hook uses. */
interface Reply {
  code(status: number): Reply;
  headers(headers: Record<string, string>): Reply;
  send(body: Buffer): unknown;
}

/** A hook that refuses requests with 401, 403, 503 and 504, as the gateway does. */
export type Hook = (request: { raw: IncomingMessage }, reply: Reply) => Promise<unknown>;

/** Lets any user with a valid token pass. */
export function requireUser(client: AuthClient): Hook {
  return hook(client, undefined);
}

/** Lets a request pass if its user has one of these roles now. */
export function requireRole(client: AuthClient, ...roles: Role[]): Hook {
  return hook(client, roles);
}

/**
 * Lets a request pass if its user has one of these roles or is in one of these groups now:
 * `requireAnyOf(client, { roles: ["admin"], groups: ["staff"] })`.
 */
export function requireAnyOf(client: AuthClient, requirement: Requirement): Hook {
  return hook(client, requirementFrom(requirement));
}

/**
 * Lets a request pass if a proxy at one of `peers` names its user. With roles or a requirement, the user must meet
 * it.
 */
export function requireProxyUser(
  peers: readonly string[],
  ...required: Role[] | [Requirement]
): Hook {
  const identity = new ProxyIdentity(peers, ...required);
  return hookOf((request) => identify(request, request.raw, identity));
}

function hook(client: AuthClient, required: RolesOrRequirement | undefined): Hook {
  return hookOf((request) => authenticate(request, request.raw, client, required));
}

function hookOf(decide: (request: { raw: IncomingMessage }) => Promise<ErrorResponse | undefined>): Hook {
  return async (request, reply) => {
    const refused = await decide(request);
    if (!refused) return undefined;
    // Fastify regards a returned reply as already sent. The body is a buffer, because Fastify adds a charset to
    // a string's type.
    return reply.code(refused.status).headers(refused.headers).send(Buffer.from(refused.body));
  };
}
