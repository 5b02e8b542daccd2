/** Links by which users choose their passwords. */

import { Malformed } from "./errors.js";
import type {
  CreateUserResponse, GetPasswordLinkResponse, GetPasswordPolicyResponse, PasswordLink as WirePasswordLink,
} from "./generated/rolegate/auth/v1/auth.js";
import { type User, userFrom } from "./user.js";

/** A link, as its token, which is never shown again. */
export interface PasswordLink {
  readonly token: string;
  /** When it ends, unless it is used before. */
  readonly expiresAt: Date;
}

/** A user who was created without a password, and the link by which the user chooses one. */
export interface NewUser {
  readonly user: User;
  readonly link: PasswordLink;
}

/** A link without a token or its end is `Malformed`. */
export function passwordLinkFrom(message: WirePasswordLink | undefined): PasswordLink {
  const { token, expiresAt } = message ?? {};
  if (!token || !expiresAt) throw new Malformed("a password link without a token or its end");
  return { token, expiresAt };
}

/** Without the link, nobody could sign in: `Malformed`. */
export function newUserFrom({ user, passwordLink }: CreateUserResponse): NewUser {
  return { user: userFrom(user), link: passwordLinkFrom(passwordLink) };
}

/** Whose password a link sets, and until when. */
export interface PasswordLinkHolder {
  readonly username: string;
  /** When the link ends, unless it is used before. */
  readonly expiresAt: Date;
}

/** One without a name or its end is `Malformed`. */
export function passwordLinkHolderFrom({ username, expiresAt }: GetPasswordLinkResponse): PasswordLinkHolder {
  if (!username || !expiresAt) throw new Malformed("a password link without its user or its end");
  return { username, expiresAt };
}

/** How many bytes a new password may have. A list of common ones may refuse others. */
export interface PasswordPolicy {
  readonly minLength: number;
  readonly maxLength: number;
}

/** Lengths that no password has are `Malformed`. */
export function passwordPolicyFrom({ minLength, maxLength }: GetPasswordPolicyResponse): PasswordPolicy {
  if (minLength < 1 || minLength > maxLength) throw new Malformed("lengths that no password has");
  return { minLength, maxLength };
}
