/**
 * The client of Rolegate's auth-service: users, passwords, tokens and role decisions.
 *
 * `@rolegate/client/express`, `@rolegate/client/fastify` and `@rolegate/client/fetch` protect the endpoints of a
 * service. `@rolegate/client/testing` starts the real services for a test.
 *
 * Inside the package, `client.ts`, `groups.ts` and `sign-in.ts` have the methods, `methods.ts` describes the calls,
 * and `calls.ts` makes them. Decisions first go through `batcher.ts`, so that they share calls. `channel.ts` has
 * the address of auth-service, `health.ts` chooses the replica, and `status.ts` turns gRPC statuses into the
 * errors of `errors.ts`.
 */

export { type ApiKey, type NewApiKey } from "./api-key.js";
export { type AuditEntry, type AuditPage, type AuditQuery } from "./audit.js";
export { AuthClient, type Context } from "./client.js";
export { type Tls } from "./channel.js";
export {
  DeadlineExceeded,
  Malformed,
  NotAuthenticated,
  type Reason,
  Refused,
  RolegateError,
  Unavailable,
} from "./errors.js";
export {
  type Group, type GroupPage, type Member, type MemberPage, type Membership, type UserGroup,
} from "./group.js";
export { bearerToken, errorResponse, type ErrorResponse, userOf } from "./http.js";
export { IdentityRefused, ProxyIdentity } from "./identity.js";
export { type NewUser, type PasswordLink, type PasswordLinkHolder, type PasswordPolicy } from "./password-link.js";
export { type Requirement } from "./requirement.js";
export { type SecondFactor, type SecondFactorEnrolment } from "./second-factor.js";
export { type CurrentUser, type NewSession, type Session } from "./session.js";
export { type Login, type Role, type User, type UserPage } from "./user.js";
export {
  type SnapshotStart, type UserChange, type UserEvent, type WatchProgress,
} from "./user-changes.js";
