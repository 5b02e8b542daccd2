/** API keys, as the service returns them. */

import { Malformed } from "./errors.js";
import type { ApiKey as WireApiKey, CreateApiKeyResponse } from "./generated/rolegate/auth/v1/auth.js";
import { idFrom, type Role, roleFrom } from "./user.js";

/** An API key, without the key itself. */
export interface ApiKey {
  readonly id: number;
  readonly userId: number;
  /** The name that the creator gave the key, which need not be unique. */
  readonly name: string;
  /** The first 8 characters of the key. */
  readonly prefix: string;
  /** The highest role that the key grants. `undefined` means the role of its user. */
  readonly role: Role | undefined;
  readonly createdAt: Date;
  /** The time at which the key expires; `undefined` if it never expires. */
  readonly expiresAt: Date | undefined;
  /** The time at which a decision last accepted the key; `undefined` if none has. */
  readonly lastUsedAt: Date | undefined;
  /**
   * The username of the admin who created the key for the user; `undefined` if the user or an operator created
   * it.
   */
  readonly createdBy: string | undefined;
  /**
   * The names of the groups that the key has as far as its user is in them, in ascending order. `undefined` means that
   * the key names no groups: with a role it then has none, and without a role it has those of its user.
   */
  readonly groups: readonly string[] | undefined;
}

/**
 * A key that was just created. Programs send `key` like an access token. The service never returns it again.
 */
export interface NewApiKey {
  readonly key: string;
  readonly apiKey: ApiKey;
}

/**
 * Converts an API key. Throws `Malformed` for an invalid role, because a key without a role would seem to grant
 * more.
 */
export function apiKeyFrom(message: WireApiKey | undefined): ApiKey {
  if (!message?.createdAt || message.id < 1n) throw new Malformed("an API key without an id or a time");
  const { name, prefix, createdAt, expiresAt, lastUsedAt, createdBy, roleName } = message;
  const hasRole = roleName !== undefined || message.role !== undefined;
  const role = hasRole ? roleFrom(roleName ?? "", message.role) : undefined;
  const [id, userId] = [idFrom(message.id), idFrom(message.userId)];
  const groups = message.groups?.names;
  return { id, userId, name, prefix, role, createdAt, expiresAt, lastUsedAt, createdBy, groups };
}

/**
 * Converts a new key. Throws `Malformed` instead of returning the key if it belongs to another user or names other
 * groups than requested.
 */
export function newApiKeyFrom(
  message: CreateApiKeyResponse,
  userId: number | undefined,
  groups?: readonly string[] | undefined,
): NewApiKey {
  const apiKey = apiKeyFrom(message.apiKey);
  // The previous version of the service ignores the user, so the key would belong to the actor, who is an admin.
  if (userId !== undefined && userId !== apiKey.userId) throw new Malformed("an API key of another user");
  // It also ignores the groups, so the key could have all groups of its user after an upgrade.
  if (groups && !hasSameNames(groups, apiKey.groups)) throw new Malformed("an API key without the requested groups");
  return { key: message.key, apiKey };
}

function hasSameNames(requested: readonly string[], granted: readonly string[] | undefined): boolean {
  if (!granted) return false;
  return requested.every((name) => granted.includes(name)) && granted.every((name) => requested.includes(name));
}
