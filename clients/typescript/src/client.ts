/** The client, with one method for each call of the contract. */

import { Client } from "@grpc/grpc-js";
import { endFor, updatedUserFrom } from "./account-end.js";
import { type ApiKey, apiKeyFrom, type NewApiKey, newApiKeyFrom } from "./api-key.js";
import { type AuditPage, auditPageFrom, type AuditQuery, auditRequest } from "./audit.js";
import { Batcher } from "./batcher.js";
import { call, type Context, metadataOf, type Method, PASSWORD_TIMEOUT, CALL_TIMEOUT } from "./calls.js";
import { OPTIONS, parseAddress, settingsFromEnv, type Tls } from "./channel.js";
import { authorizeRequest, decide, type Decision, outcomesOf, refusedOr } from "./decisions.js";
import { Malformed, RolegateError } from "./errors.js";
import * as pb from "./generated/rolegate/auth/v1/auth.js";
import { GroupCalls } from "./groups.js";
import * as methods from "./methods.js";
import type { Requirement, RolesOrRequirement } from "./requirement.js";
import { type CurrentUser, currentUserFrom, type Session, sessionFrom } from "./session.js";
import {
  idFrom, optionalId, optionalIdFrom, type Role, roleFields, roleFrom, type User, userFrom, type UserPage,
} from "./user.js";
import { follow, type UserEvent, Watch } from "./user-changes.js";

export type { Context } from "./calls.js";

const SERVICE = `${pb.protobufPackage}.AuthService`;
/** The maximum number of items of one `BatchAuthorize`. */
const MAX_BATCH = 256;

/**
 * A client of every replica of auth-service behind a URL.
 *
 * `actor` is the access token or session of an admin, unless the call says otherwise. Calls reject with a
 * `RolegateError`. A call ends after 5 seconds, or after 10 if it hashes a password. Calls that change nothing are
 * repeated if they reached no replica.
 */
export class AuthClient extends GroupCalls {
  readonly #client: Client;
  readonly #passwords: Client;
  readonly #decisions: Batcher<Decision, User>;
  readonly #closing = new AbortController();

  constructor(url: string, tls?: Tls) {
    super();
    const address = parseAddress(url, tls);
    const connect = () => new Client(address.target, address.credentials, OPTIONS);
    [this.#client, this.#passwords] = [connect(), connect()];
    const decideAll = (members: Decision[], end: number) => decide(this.#client, SERVICE, members, end);
    this.#decisions = new Batcher(decideAll, MAX_BATCH, CALL_TIMEOUT);
  }

  /** Creates a client from `AUTH_SERVICE_URL` and `AUTH_CLIENT_TLS_{CA,CERT,KEY}_FILE`. */
  static fromEnv(): AuthClient {
    return new AuthClient(...settingsFromEnv());
  }

  /** Closes all connections, and ends all watches. */
  close(): void {
    this.#closing.abort();
    this.#client.close();
    this.#passwords.close();
  }

  /** Creates a user with the role `user`. */
  async register(username: string, password: string, context: Context = {}): Promise<User> {
    return userFrom((await this.call(methods.REGISTER, { username, password }, context)).user);
  }

  /**
   * Checks a username and a password, for HTTP Basic (RFC 7617). With `acceptApiKeys`, a valid API key of the user is
   * accepted in place of the password.
   */
  async verifyCredentials(
    username: string,
    password: string,
    context: Context = {},
    { acceptApiKeys = false }: { readonly acceptApiKeys?: boolean } = {},
  ): Promise<User> {
    const message = { username, password, roleNames: [], groupNames: [], acceptApiKeys };
    return userFrom((await this.call(methods.VERIFY_CREDENTIALS, message, context)).user);
  }

  /**
   * Decides whether the bearer of `token` has one of the required roles or is in one of the required groups now:
   * `authorize(token, ["admin"])`, `authorize(token, { roles: ["admin"], groups: ["staff"] })`. Without `required`, any
   * user is accepted.
   *
   * Concurrent decisions share calls, which carry all request ids and no client address.
   */
  async authorize(token: string, required?: RolesOrRequirement, context: Context = {}): Promise<User> {
    return this.#decisions.submit({ item: authorizeRequest(token, required), context });
  }

  /**
   * Makes up to 256 decisions, and returns the outcomes of the decisions in the same order. A decision without roles
   * and groups accepts any user.
   */
  async batchAuthorize(
    decisions: readonly ({ token: string } & Requirement)[],
    context: Context = {},
  ): Promise<(User | RolegateError)[]> {
    // A text that cannot be a token gets a refusal as its own outcome, and does not affect the other decisions.
    const all = decisions.map(({ token, roles, groups }) => {
      const required = (roles ?? groups) === undefined ? undefined : { roles, groups };
      return refusedOr(() => authorizeRequest(token, required));
    });
    const items = all.filter((item) => !(item instanceof RolegateError));
    const response = await this.call(methods.BATCH_AUTHORIZE, { items }, context);
    const outcomes = outcomesOf(response, items.length).values();
    return all.map((item) => {
      return item instanceof RolegateError ? item : (outcomes.next().value ?? new Malformed(""));
    });
  }

  /** Creates a user, even while registration is closed. */
  async createUser(
    actor: string,
    username: string,
    password: string,
    role: Role = "user",
    context: Context = {},
  ): Promise<User> {
    const message = { username, password, ...roleFields(role), passwordLink: false };
    return userFrom((await this.call(methods.CREATE_USER, message, context, actor)).user);
  }

  /** Disables or enables a user. Every credential of a disabled user is refused. */
  async setUserDisabled(
    actor: string,
    id: number,
    disabled: boolean,
    context: Context = {},
  ): Promise<User> {
    const message = { userId: BigInt(id), disabled };
    return userFrom((await this.call(methods.SET_USER_DISABLED, message, context, actor)).user);
  }

  /**
   * Renames a user, disables or enables the user, sets the end of the account, or does several of these at once.
   *
   * A new name revokes the user's access tokens, but not the sessions and API keys. The account ends at `until`,
   * without its fraction of a second; `null` removes the end. Rejects with `Malformed` if the service has ignored the
   * end, as the previous version does. The other changes were then made.
   */
  async updateUser(
    actor: string,
    id: number,
    update: { username?: string; disabled?: boolean; until?: Date | null },
    context: Context = {},
  ): Promise<User> {
    const { username, disabled, until } = update;
    const message = { userId: BigInt(id), username, disabled, end: endFor(until) };
    const response = await this.call(methods.UPDATE_USER, message, context, actor);
    return updatedUserFrom(response, until);
  }

  /** Replaces the role of a user. Every later decision uses the new role. */
  async setUserRole(actor: string, id: number, role: Role, context: Context = {}): Promise<User> {
    const message = { userId: BigInt(id), ...roleFields(role) };
    return userFrom((await this.call(methods.SET_USER_ROLE, message, context, actor)).user);
  }

  /** Lists users by ascending id. A page has at most `limit` (1 to 200) users, with ids above `after`. */
  async listUsers(
    actor: string,
    query: { limit?: number; after?: number; usernamePrefix?: string; role?: Role } = {},
    context: Context = {},
  ): Promise<UserPage> {
    const { limit = 50, after = 0, usernamePrefix = "", role } = query;
    const filter = { usernamePrefix, search: "", ...(role !== undefined && roleFields(role)) };
    const order = { order: pb.UserOrder.USER_ORDER_UNSPECIFIED, descending: false, cursor: "" };
    const details = { withTimes: false, withTotal: false, withSignIns: false, groupName: "" };
    const message = { pageSize: limit, after: BigInt(after), ...order, ...filter, ...details };
    const { users, nextAfter } = await this.call(methods.LIST_USERS, message, context, actor);
    return { users: users.map(userFrom), next: optionalIdFrom(nextAfter) };
  }

  /** Returns the user with this id. */
  async getUser(actor: string, id: number, context: Context = {}): Promise<User> {
    return userFrom((await this.call(methods.GET_USER, { userId: BigInt(id) }, context, actor)).user);
  }

  /** Deletes a user and returns the deleted user. */
  async deleteUser(actor: string, id: number, context: Context = {}): Promise<User> {
    return userFrom((await this.call(methods.DELETE_USER, { userId: BigInt(id) }, context, actor)).user);
  }

  /** Replaces the password of another user, and revokes the user's tokens and sessions. */
  async setPassword(
    actor: string,
    id: number,
    password: string,
    context: Context = {},
  ): Promise<User> {
    const message = { userId: BigInt(id), password };
    return userFrom((await this.call(methods.SET_PASSWORD, message, context, actor)).user);
  }

  /**
   * Replaces the password of the bearer of `actor`, and revokes the user's access tokens and all sessions except
   * `actor`.
   */
  async changePassword(
    actor: string,
    currentPassword: string,
    newPassword: string,
    context: Context = {},
  ): Promise<User> {
    const message = { currentPassword, newPassword };
    return userFrom((await this.call(methods.CHANGE_PASSWORD, message, context, actor)).user);
  }

  /**
   * Revokes every access token and session of a user.
   *
   * Without an id, the user is the bearer of `actor`. If `actor` is a session, only that session is then
   * revoked.
   */
  async revokeTokens(actor: string, userId?: number, context: Context = {}): Promise<User> {
    const message = { userId: optionalId(userId), fromCookie: false, cookieSessions: [], withPairs: false };
    return userFrom((await this.call(methods.REVOKE_TOKENS, message, context, actor)).user);
  }

  /**
   * Creates an API key with at most `role`. Without it, the key has the role of its user.
   *
   * The key has those of `groups` that its user is in. Without `groups`, a key with a role has none, and a key without
   * a role has the groups of its user. Rejects with `Malformed` if the service has ignored `groups`, as the previous
   * version does.
   *
   * The key belongs to the bearer of `actor`, or to the user with `userId`. An admin who creates a key for another
   * user must name a role.
   */
  async createApiKey(
    actor: string,
    name: string,
    options: {
      role?: Role | undefined;
      expiresAt?: Date | undefined;
      userId?: number | undefined;
      groups?: readonly string[] | undefined;
    } = {},
    context: Context = {},
  ): Promise<NewApiKey> {
    const { role, expiresAt, userId, groups } = options;
    const fields = role !== undefined && roleFields(role);
    // An empty list must also be sent, because a key without a list can have all groups of its user.
    const groupNames = groups === undefined ? undefined : { names: [...groups] };
    const message = { name, ...fields, expiresAt, userId: optionalId(userId), groups: groupNames };
    const response = await this.call(methods.CREATE_API_KEY, message, context, actor);
    return newApiKeyFrom(response, userId, groups);
  }

  /** Lists the API keys of a user by ascending id. Without a user id, the user is the bearer of `actor`. */
  async listApiKeys(actor: string, userId?: number, context: Context = {}): Promise<ApiKey[]> {
    const message = { userId: optionalId(userId) };
    const response = await this.call(methods.LIST_API_KEYS, message, context, actor);
    return response.apiKeys.map(apiKeyFrom);
  }

  /**
   * Deletes one API key of a user, or all keys, and returns the deleted keys. Without a user id, the user is the
   * bearer of `actor`.
   */
  async deleteApiKeys(
    actor: string,
    keys: number | "all",
    userId?: number,
    context: Context = {},
  ): Promise<ApiKey[]> {
    const selected: pb.DeleteApiKeysRequest["keys"] =
      keys === "all" ? { $case: "all", value: {} } : { $case: "keyId", value: BigInt(keys) };
    const message = { userId: optionalId(userId), keys: selected };
    const response = await this.call(methods.DELETE_API_KEYS, message, context, actor);
    return response.apiKeys.map(apiKeyFrom);
  }

  /** Lists the sessions of a user by ascending id. Without a user id, the user is the bearer of `actor`. */
  async listSessions(actor: string, userId?: number, context: Context = {}): Promise<Session[]> {
    const message = { userId: optionalId(userId) };
    const response = await this.call(methods.LIST_SESSIONS, message, context, actor);
    return response.sessions.map(sessionFrom);
  }

  /**
   * Revokes one session of a user, or all sessions except `actor` itself, and returns the revoked sessions.
   * Without a user id, the user is the bearer of `actor`.
   */
  async deleteSessions(
    actor: string,
    sessions: number | "all",
    userId?: number,
    context: Context = {},
  ): Promise<Session[]> {
    const selected: pb.DeleteSessionsRequest["sessions"] =
      sessions === "all" ? { $case: "all", value: {} } : { $case: "sessionId", value: BigInt(sessions) };
    const message = { userId: optionalId(userId), sessions: selected };
    const response = await this.call(methods.DELETE_SESSIONS, message, context, actor);
    return response.sessions.map(sessionFrom);
  }

  /** Returns the bearer of `actor` and the kind of the credential. `actor` may be any credential. */
  async getCurrentUser(actor: string, context: Context = {}): Promise<CurrentUser> {
    return currentUserFrom(await this.call(methods.GET_CURRENT_USER, {}, context, actor));
  }

  /** Returns the roles that auth-service has. */
  async listRoles(actor: string, context: Context = {}): Promise<Role[]> {
    const { roleNames } = await this.call(methods.LIST_ROLES, {}, context, actor);
    return roleNames.map((name) => roleFrom(name));
  }

  /** Returns the usernames of up to 256 users by id, without ids that do not exist. The call needs no actor. */
  async getUsernames(ids: readonly number[], context: Context = {}): Promise<Map<number, string>> {
    const { users } = await this.call(methods.BATCH_GET_USERS, { ids: ids.map(BigInt) }, context);
    return new Map(users.map(({ id, username }) => [idFrom(id), username]));
  }

  /** Lists the record, the newest entry first. A page has at most `limit` entries, with revisions below `after`. */
  async listAudit(actor: string, query: AuditQuery = {}, context: Context = {}): Promise<AuditPage> {
    return auditPageFrom(await this.call(methods.LIST_AUDIT, auditRequest(query), context, actor));
  }

  /**
   * Yields the changes of users after a revision. The watch continues through outages, and has no deadline.
   *
   * Without a revision, all users come first. `seal` is the last stored seal; pass it with or without a
   * revision. `actor` may be an API key of an admin. Without `actor`, the client certificate identifies the
   * caller. `UserEvent` explains what to do with the events. A refusal that does not end by waiting is thrown.
   */
  watchUsers(
    actor?: string,
    fromRevision?: number,
    context: Context = {},
    seal?: string,
  ): AsyncGenerator<UserEvent, void> {
    const metadata = metadataOf(context, actor);
    return follow(this.#client, SERVICE, metadata, new Watch(fromRevision, seal), this.#closing.signal);
  }

  protected override async call<Request, Response>(
    method: Method<Request, Response>,
    message: Request,
    context: Context,
    actor?: string,
  ): Promise<Response> {
    const client = method.hashes ? this.#passwords : this.#client;
    const deadline = performance.now() + (method.hashes ? PASSWORD_TIMEOUT : CALL_TIMEOUT);
    return call(client, SERVICE, method, message, metadataOf(context, actor), deadline);
  }
}
