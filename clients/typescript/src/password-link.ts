/** Links by which users choose their passwords, and the limits on the length of these passwords. */

import { Malformed } from "./errors.js";
import type {
  CreateUserResponse, GetPasswordLinkResponse, GetPasswordPolicyResponse, PasswordLink as WirePasswordLink,
} from "./generated/rolegate/auth/v1/auth.js";
import { type User, userFrom } from "./user.js";

/** A password link. The service never returns its token again. */
export interface PasswordLink {
  readonly token: string;
  /** When the link expires, unless it is used before. */
  readonly expiresAt: Date;
}

/** A user who was created without a password, and the link by which the user chooses one. */
export interface NewUser {
  readonly user: User;
  readonly link: PasswordLink;
}

/** Reads a link. Throws `Malformed` if it has no token or no expiry. */
export function passwordLinkFrom(message: WirePasswordLink | undefined): PasswordLink {
  const { token, expiresAt } = message ?? {};
  if (!token || !expiresAt) throw new Malformed("a password link without a token or its end");
  return { token, expiresAt };
}

/** Reads the response. Throws `Malformed` without a link, because the user could then never sign in. */
export function newUserFrom({ user, passwordLink }: CreateUserResponse): NewUser {
  return { user: userFrom(user), link: passwordLinkFrom(passwordLink) };
}

/** The user whose password a link sets. */
export interface PasswordLinkHolder {
  readonly username: string;
  /** When the link expires, unless it is used before. */
  readonly expiresAt: Date;
}

/** Reads the response. Throws `Malformed` if it has no name or no expiry. */
export function passwordLinkHolderFrom({ username, expiresAt }: GetPasswordLinkResponse): PasswordLinkHolder {
  if (!username || !expiresAt) throw new Malformed("a password link without its user or its end");
  return { username, expiresAt };
}

/**
 * The limits on the length of a new password, in bytes. In addition, the service may refuse common passwords.
 */
export interface PasswordPolicy {
  readonly minLength: number;
  readonly maxLength: number;
}

/** Converts the response. Throws `Malformed` if no length is within the limits. */
export function passwordPolicyFrom({ minLength, maxLength }: GetPasswordPolicyResponse): PasswordPolicy {
  if (minLength < 1 || minLength > maxLength) throw new Malformed("lengths that no password has");
  return { minLength, maxLength };
}
