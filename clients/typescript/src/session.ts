/** Sessions, and what a credential is. */

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
  /** As the client named it; `undefined`: without a name. */
  readonly name: string | undefined;
  readonly createdAt: Date;
  /** When it was last good for a decision; `undefined`: never. */
  readonly lastUsedAt: Date | undefined;
  /** The address and the User-Agent of the client that made it; `undefined`: unknown. */
  readonly clientAddress: string | undefined;
  readonly userAgent: string | undefined;
  /** When it ends, used or not. */
  readonly expiresAt: Date;
  /** When it ends unless it is used. */
  readonly idleExpiresAt: Date;
  /** Whether it is the credential of the call. */
  readonly current: boolean;
}

/** A session that was made. `token` is sent like an access token, and never shown again. */
export interface NewSession {
  readonly token: string;
  readonly session: Session;
  readonly user: User;
}

/** The bearer of a credential, with the role of decisions. */
export interface CurrentUser {
  readonly user: User;
  /** What the credential is. */
  readonly credentialKind: "access_token" | "session" | "api_key";
  /** When the credential ends at the latest; `undefined`: never. */
  readonly expiresAt: Date | undefined;
}

const KINDS = new Map<CredentialKind, CurrentUser["credentialKind"]>([
  [CredentialKind.CREDENTIAL_KIND_ACCESS_TOKEN, "access_token"],
  [CredentialKind.CREDENTIAL_KIND_SESSION, "session"],
  [CredentialKind.CREDENTIAL_KIND_API_KEY, "api_key"],
]);

/** A session without an id or a time is `Malformed`. */
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

/** A credential of another kind is `Malformed`. */
export function currentUserFrom({ user, credential }: GetCurrentUserResponse): CurrentUser {
  const credentialKind = credential && KINDS.get(credential.kind);
  if (!credentialKind) throw new Malformed("an unknown kind of credential");
  return { user: userFrom(user), credentialKind, expiresAt: credential.expiresAt };
}
