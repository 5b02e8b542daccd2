/** Middleware of Express, and of everything else that takes `(request, response, next)`. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthClient } from "./client.js";
import { authenticate } from "./http.js";
import type { Role } from "./user.js";

export { userOf } from "./http.js";

/** Middleware; it answers 401, 403, 503 and 504 as the gateway does. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Lets any user with a valid token pass. */
export function requireUser(client: AuthClient): Middleware {
  return middleware(client, undefined);
}

/** Lets users pass who have one of these roles now. */
export function requireRole(client: AuthClient, ...roles: Role[]): Middleware {
  return middleware(client, roles);
}

function middleware(client: AuthClient, roles: readonly Role[] | undefined): Middleware {
  return (request, response, next) => {
    authenticate(request, request, client, roles).then((refused) => {
      if (!refused) return next();
      response.writeHead(refused.status, refused.headers).end(refused.body);
      // Also for what `next` throws.
    }).catch(next);
  };
}
