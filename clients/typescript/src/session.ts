/** Sessions, and the user of a credential, as the service returns them. */

import { Malformed } from "./errors.js";
import {
  CredentialKind,
  type GetCurrentUserResponse,
  type Session as WireSession,
} from "./generated/rolegate/auth/v1/auth.js";
import { idFrom, type User, userFrom } from "./user.js";

/** A session, without its token. */
export interface Session {
  readonly id: number;
  readonly userId: number;
  /** The name that the client gave the session; `undefined` if it has none. */
  readonly name: string | undefined;
  readonly createdAt: Date;
  /** The time at which a decision last accepted the session; `undefined` if none has. */
  readonly lastUsedAt: Date | undefined;
  /** The address and the User-Agent of the client that created the session; `undefined` if they are unknown. */
  readonly clientAddress: string | undefined;
  readonly userAgent: string | undefined;
  /** The time at which the session expires, even if it is used. */
  readonly expiresAt: Date;
  /** The time at which the session expires if it is not used before. */
  readonly idleExpiresAt: Date;
  /** True if the session is the credential of the call. */
  readonly current: boolean;
}

/**
 * A session that was just created. Programs send `token` like an access token. The service never returns it
 * again.
 */
export interface NewSession {
  readonly token: string;
  readonly session: Session;
  readonly user: User;
}

/** The user of a credential, with the role that decisions use. */
export interface CurrentUser {
  readonly user: User;
  /** The kind of the credential. */
  readonly credentialKind: "access_token" | "session" | "api_key";
  /** The time at which the credential expires at the latest; `undefined` if it never expires. */
  readonly expiresAt: Date | undefined;
}

const KINDS = new Map<CredentialKind, CurrentUser["credentialKind"]>([
  [CredentialKind.CREDENTIAL_KIND_ACCESS_TOKEN, "access_token"],
  [CredentialKind.CREDENTIAL_KIND_SESSION, "session"],
  [CredentialKind.CREDENTIAL_KIND_API_KEY, "api_key"],
]);

/** Reads a session. Throws `Malformed` if it has no id or lacks a time. */
export function sessionFrom(message: WireSession | undefined): Session {
  const { createdAt, expiresAt, idleExpiresAt } = message ?? {};
  if (!message || message.id < 1n || !createdAt || !expiresAt || !idleExpiresAt) {
    throw new Malformed("a session without an id or a time");
  }
  const { name, lastUsedAt, clientAddress, userAgent, current } = message;
  const [id, userId] = [idFrom(message.id), idFrom(message.userId)];
  const origin = { clientAddress, userAgent };
  return { id, userId, name, createdAt, lastUsedAt, ...origin, expiresAt, idleExpiresAt, current };
}

/** Reads the response. Throws `Malformed` for a credential of an unknown kind. */
export function currentUserFrom({ user, credential }: GetCurrentUserResponse): CurrentUser {
  const credentialKind = credential && KINDS.get(credential.kind);
  if (!credentialKind) throw new Malformed("an unknown kind of credential");
  return { user: userFrom(user), credentialKind, expiresAt: credential.expiresAt };
}
