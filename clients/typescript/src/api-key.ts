/** API keys. */

import { Malformed } from "./errors.js";
import type { ApiKey as WireApiKey, CreateApiKeyResponse } from "./generated/rolegate/auth/v1/auth.js";
import { idFrom, type Role, roleFrom } from "./user.js";

/** An API key, without the key itself. */
export interface ApiKey {
  readonly id: number;
  readonly userId: number;
  /** As its user named it; not unique. */
  readonly name: string;
  /** The first 8 characters of the key. */
  readonly prefix: string;
  /** The highest role that it grants; `undefined`: the user's. */
  readonly role: Role | undefined;
  readonly createdAt: Date;
  /** When it ends; `undefined`: never. */
  readonly expiresAt: Date | undefined;
  /** When it was last good for a decision; `undefined`: never. */
  readonly lastUsedAt: Date | undefined;
  /** The username of the admin who created it for the user; `undefined`: the user or an operator did. */
  readonly createdBy: string | undefined;
}

/** A key that was created. `key` is sent like an access token, and never shown again. */
export interface NewApiKey {
  readonly key: string;
  readonly apiKey: ApiKey;
}

/** A role that is none is `Malformed`: without it the key would seem to grant more. */
export function apiKeyFrom(message: WireApiKey | undefined): ApiKey {
  if (!message?.createdAt || message.id < 1n) throw new Malformed("an API key without an id or a time");
  const { name, prefix, createdAt, expiresAt, lastUsedAt, createdBy, roleName } = message;
  const hasRole = roleName !== undefined || message.role !== undefined;
  const role = hasRole ? roleFrom(roleName ?? "", message.role) : undefined;
  const [id, userId] = [idFrom(message.id), idFrom(message.userId)];
  return { id, userId, name, prefix, role, createdAt, expiresAt, lastUsedAt, createdBy };
}

/** A key that is not of the user it was made for is `Malformed`, and not handed out. */
export function newApiKeyFrom(message: CreateApiKeyResponse, userId: number | undefined): NewApiKey {
  const apiKey = apiKeyFrom(message.apiKey);
  // The version before ignores the user, so the key would be one of the actor, who is an admin.
  if (userId !== undefined && userId !== apiKey.userId) throw new Malformed("an API key of another user");
  return { key: message.key, apiKey };
}
