/** The calls of the contract. */

import { Client } from "@grpc/grpc-js";
import { type ApiKey, apiKeyFrom, type NewApiKey } from "./api-key.js";
import { Batcher } from "./batcher.js";
import {
  call,
  checkedToken,
  type Context,
  metadataOf,
  type Method,
  PASSWORD_TIMEOUT,
  READ_TIMEOUT,
  sharedMetadata,
} from "./calls.js";
import { OPTIONS, parseAddress, settingsFromEnv, type Tls } from "./channel.js";
import { Malformed, refusal, RolegateError } from "./errors.js";
import * as pb from "./generated/rolegate/auth/v1/auth.js";
import * as methods from "./methods.js";
import { idFrom, type Login, type Role, roleNumber, type User, userFrom, type UserPage } from "./user.js";

export type { Context } from "./calls.js";

const SERVICE = `${pb.protobufPackage}.AuthService`;
/** Items of one `BatchAuthorize`. */
const MAX_BATCH = 256;

/**
 * A client of every replica of auth-service behind a URL.
 *
 * In every call that takes `actor`, it is the access token of an admin, unless the call says otherwise.
 * Calls reject with a `RolegateError`. They end after 5 seconds, those that hash a password after 10; calls
 * that change nothing are made again if they reached no replica.
 */
export class AuthClient {
  readonly #client: Client;
  readonly #passwords: Client;
  readonly #decisions: Batcher<{ item: pb.AuthorizeRequest; context: Context }, User>;

  constructor(url: string, tls?: Tls) {
    const address = parseAddress(url, tls);
    const connect = () => new Client(address.target, address.credentials, OPTIONS);
    [this.#client, this.#passwords] = [connect(), connect()];
    this.#decisions = new Batcher((members, end) => this.#decide(members, end), MAX_BATCH, READ_TIMEOUT);
  }

  /** By `AUTH_SERVICE_URL` and `AUTH_CLIENT_TLS_{CA,CERT,KEY}_FILE`. */
  static fromEnv(): AuthClient {
    return new AuthClient(...settingsFromEnv());
  }

  /** Ends all connections. */
  close(): void {
    this.#client.close();
    this.#passwords.close();
  }

  /** Creates a user with the role `user`. */
  async register(username: string, password: string, context: Context = {}): Promise<User> {
    return userFrom((await this.#call(methods.REGISTER, { username, password }, context)).user);
  }

  /** Checks a username and a password and issues an access token. */
  async login(username: string, password: string, context: Context = {}): Promise<Login> {
    const response = await this.#call(methods.LOGIN, { username, password }, context);
    return { accessToken: response.accessToken, user: userFrom(response.user) };
  }

  /** Checks a username and a password, for HTTP Basic (RFC 7617). */
  async verifyCredentials(username: string, password: string, context: Context = {}): Promise<User> {
    return userFrom((await this.#call(methods.VERIFY_CREDENTIALS, { username, password }, context)).user);
  }

  /**
   * Decides whether the bearer of `token` has one of `roles` now; `undefined`: any user. Concurrent decisions
   * share calls, which carry all request ids and no client address.
   */
  async authorize(token: string, roles?: readonly Role[], context: Context = {}): Promise<User> {
    return this.#decisions.submit({ item: authorizeRequest(token, roles), context });
  }

  /** Makes up to 256 decisions, each with its own outcome. */
  async batchAuthorize(
    decisions: readonly { token: string; roles?: readonly Role[] | undefined }[],
    context: Context = {},
  ): Promise<(User | RolegateError)[]> {
    // A token that cannot be one is refused in its place and spoils no other decision.
    const all = decisions.map(({ token, roles }) => refusedOr(() => authorizeRequest(token, roles)));
    const items = all.filter((item) => !(item instanceof RolegateError));
    const response = await this.#call(methods.BATCH_AUTHORIZE, { items }, context);
    const outcomes = outcomesOf(response, items.length).values();
    return all.map((item) => {
      return item instanceof RolegateError ? item : (outcomes.next().value ?? new Malformed(""));
    });
  }

  /** Creates a user, also while registration is closed. */
  async createUser(
    actor: string,
    username: string,
    password: string,
    role: Role = "user",
    context: Context = {},
  ): Promise<User> {
    const message = { username, password, role: roleNumber(role) };
    return userFrom((await this.#call(methods.CREATE_USER, message, context, actor)).user);
  }

  /** Disables or enables a user. Every credential of a disabled user is refused. */
  async setUserDisabled(
    actor: string,
    id: number,
    disabled: boolean,
    context: Context = {},
  ): Promise<User> {
    const message = { userId: BigInt(id), disabled };
    return userFrom((await this.#call(methods.SET_USER_DISABLED, message, context, actor)).user);
  }

  /** Replaces the role of a user, from the next decision on. */
  async setUserRole(actor: string, id: number, role: Role, context: Context = {}): Promise<User> {
    const message = { userId: BigInt(id), role: roleNumber(role) };
    return userFrom((await this.#call(methods.SET_USER_ROLE, message, context, actor)).user);
  }

  /** Lists users by ascending id: at most `limit` (1 to 200) with an id greater than `after`. */
  async listUsers(
    actor: string,
    query: { limit?: number; after?: number; usernamePrefix?: string; role?: Role } = {},
    context: Context = {},
  ): Promise<UserPage> {
    const { limit = 50, after = 0, usernamePrefix = "", role } = query;
    const filter = { usernamePrefix, role: role && roleNumber(role) };
    const message = { pageSize: limit, after: BigInt(after), ...filter };
    const { users, nextAfter } = await this.#call(methods.LIST_USERS, message, context, actor);
    return { users: users.map(userFrom), next: nextAfter === undefined ? nextAfter : idFrom(nextAfter) };
  }

  /** Returns a user. */
  async getUser(actor: string, id: number, context: Context = {}): Promise<User> {
    return userFrom((await this.#call(methods.GET_USER, { userId: BigInt(id) }, context, actor)).user);
  }

  /** Deletes a user and returns it. */
  async deleteUser(actor: string, id: number, context: Context = {}): Promise<User> {
    return userFrom((await this.#call(methods.DELETE_USER, { userId: BigInt(id) }, context, actor)).user);
  }

  /** Replaces the password of another user and revokes the user's tokens. */
  async setPassword(
    actor: string,
    id: number,
    password: string,
    context: Context = {},
  ): Promise<User> {
    const message = { userId: BigInt(id), password };
    return userFrom((await this.#call(methods.SET_PASSWORD, message, context, actor)).user);
  }

  /** Replaces the password of the user `actor`, and revokes all of the user's tokens. */
  async changePassword(
    actor: string,
    currentPassword: string,
    newPassword: string,
    context: Context = {},
  ): Promise<User> {
    const message = { currentPassword, newPassword };
    return userFrom((await this.#call(methods.CHANGE_PASSWORD, message, context, actor)).user);
  }

  /** Ends every access token of a user; without an id, of the user `actor`: a logout. */
  async revokeTokens(actor: string, userId?: number, context: Context = {}): Promise<User> {
    const message = { userId: optionalId(userId) };
    return userFrom((await this.#call(methods.REVOKE_TOKENS, message, context, actor)).user);
  }

  /** Creates an API key of the user `actor`, with at most `role`; `undefined`: the user's. */
  async createApiKey(
    actor: string,
    name: string,
    limits: { role?: Role | undefined; expiresAt?: Date | undefined } = {},
    context: Context = {},
  ): Promise<NewApiKey> {
    const { role, expiresAt } = limits;
    const message = { name, role: role && roleNumber(role), expiresAt };
    const response = await this.#call(methods.CREATE_API_KEY, message, context, actor);
    return { key: response.key, apiKey: apiKeyFrom(response.apiKey) };
  }

  /** The API keys of a user by ascending id; without an id, of the user `actor`. */
  async listApiKeys(actor: string, userId?: number, context: Context = {}): Promise<ApiKey[]> {
    const message = { userId: optionalId(userId) };
    const response = await this.#call(methods.LIST_API_KEYS, message, context, actor);
    return response.apiKeys.map(apiKeyFrom);
  }

  /** Deletes an API key of a user, or `"all"`; without a user id, of the user `actor`. */
  async deleteApiKeys(
    actor: string,
    keys: number | "all",
    userId?: number,
    context: Context = {},
  ): Promise<ApiKey[]> {
    const selected: pb.DeleteApiKeysRequest["keys"] =
      keys === "all" ? { $case: "all", value: {} } : { $case: "keyId", value: BigInt(keys) };
    const message = { userId: optionalId(userId), keys: selected };
    const response = await this.#call(methods.DELETE_API_KEYS, message, context, actor);
    return response.apiKeys.map(apiKeyFrom);
  }

  /** The usernames of up to 256 users by id, without ids that do not exist. Needs no actor. */
  async getUsernames(ids: readonly number[], context: Context = {}): Promise<Map<number, string>> {
    const { users } = await this.#call(methods.BATCH_GET_USERS, { ids: ids.map(BigInt) }, context);
    return new Map(users.map(({ id, username }) => [idFrom(id), username]));
  }

  async #call<Request, Response>(
    method: Method<Request, Response>,
    message: Request,
    context: Context,
    actor?: string,
  ): Promise<Response> {
    const client = method.hashes ? this.#passwords : this.#client;
    const deadline = performance.now() + (method.hashes ? PASSWORD_TIMEOUT : READ_TIMEOUT);
    return call(client, SERVICE, method, message, metadataOf(context, actor), deadline);
  }

  /** One decision alone is an `Authorize`, several are a `BatchAuthorize`. */
  async #decide(
    members: { item: pb.AuthorizeRequest; context: Context }[],
    deadline: number,
  ): Promise<(User | RolegateError)[]> {
    const metadata = sharedMetadata(members.map(({ context }) => context));
    const items = members.map(({ item }) => item);
    const [first] = items;
    if (first && items.length === 1) {
      const response = await call(this.#client, SERVICE, methods.AUTHORIZE, first, metadata, deadline);
      return [userFrom(response.user)];
    }
    const message = { items };
    const response = await call(this.#client, SERVICE, methods.BATCH_AUTHORIZE, message, metadata, deadline);
    return outcomesOf(response, items.length);
  }
}

function optionalId(id: number | undefined): bigint | undefined {
  return id === undefined ? undefined : BigInt(id);
}

function authorizeRequest(token: string, roles: readonly Role[] | undefined): pb.AuthorizeRequest {
  const accessToken = checkedToken(token);
  if (!roles) return { accessToken, requirement: { $case: "anyAuthenticated", value: {} } };
  const value = { roles: roles.map(roleNumber) };
  return { accessToken, requirement: { $case: "roles", value } };
}

function outcomesOf(response: pb.BatchAuthorizeResponse, size: number): (User | RolegateError)[] {
  // Outcomes belong to items by their order: with one missing, users would get another's.
  if (response.outcomes.length !== size) throw new Malformed("not one outcome for each item");
  return response.outcomes.map(({ outcome }) => {
    if (outcome?.$case === "refusalReason") return refusal(outcome.value);
    return refusedOr(() => userFrom(outcome?.value));
  });
}

function refusedOr<T>(make: () => T): T | RolegateError {
  try {
    return make();
  } catch (error) {
    if (error instanceof RolegateError) return error;
    throw error;
  }
}
