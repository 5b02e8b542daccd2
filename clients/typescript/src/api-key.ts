/** API keys, as the service returns them. */

import { Malformed } from "./errors.js";
import type { ApiKey as WireApiKey, CreateApiKeyResponse } from "./generated/rolegate/auth/v1/auth.js";
import { idFrom, type Role, roleFrom } from "./user.js";

/** An API key, without the key itself. */
export interface ApiKey {
  readonly id: number;
  readonly userId: number;
  /** The name that its user gave it, which need not be unique. */
  readonly name: string;
  /** The first 8 characters of the key. */
  readonly prefix: string;
  /** The highest role that the key grants. `undefined` means the role of its user. */
  readonly role: Role | undefined;
  readonly createdAt: Date;
  /** When the key expires; `undefined` if it never does. */
  readonly expiresAt: Date | undefined;
  /** When the key was last accepted for a decision; `undefined` if it never was. */
  readonly lastUsedAt: Date | undefined;
  /** The username of the admin who created it for the user; `undefined` if the user or an operator did. */
  readonly createdBy: string | undefined;
}

/** A key that was just created. `key` is sent like an access token, and is never shown again. */
export interface NewApiKey {
  readonly key: string;
  readonly apiKey: ApiKey;
}

/** Reads an API key. Throws `Malformed` for an invalid role, because a key without one would seem to grant more. */
export function apiKeyFrom(message: WireApiKey | undefined): ApiKey {
  if (!message?.createdAt || message.id < 1n) throw new Malformed("an API key without an id or a time");
  const { name, prefix, createdAt, expiresAt, lastUsedAt, createdBy, roleName } = message;
  const hasRole = roleName !== undefined || message.role !== undefined;
  const role = hasRole ? roleFrom(roleName ?? "", message.role) : undefined;
  const [id, userId] = [idFrom(message.id), idFrom(message.userId)];
  return { id, userId, name, prefix, role, createdAt, expiresAt, lastUsedAt, createdBy };
}

/** Reads a new key. Throws `Malformed`, and does not return the key, if it belongs to another user than requested. */
export function newApiKeyFrom(message: CreateApiKeyResponse, userId: number | undefined): NewApiKey {
  const apiKey = apiKeyFrom(message.apiKey);
  // The previous version of the service ignores the user, so the key would belong to the actor, who is an admin.
  if (userId !== undefined && userId !== apiKey.userId) throw new Malformed("an API key of another user");
  return { key: message.key, apiKey };
}
