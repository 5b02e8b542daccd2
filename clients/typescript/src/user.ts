/** Users and roles, as the service returns them. */

import { Malformed } from "./errors.js";
import { type AllowedRoles, Role as WireRole, type User as WireUser } from "./generated/rolegate/auth/v1/auth.js";

/** The name of a role: one of the three that always exist, or another that auth-service has. */
export type Role = "user" | "author" | "admin" | (string & {});

/**
 * A user, with the role that was stored when the service answered. In decisions, the role is `user` if the stored role
 * grants nothing.
 */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly role: Role;
  /** True if every credential of the user is refused, because the user was disabled or because the account has ended. */
  readonly disabled: boolean;
  /**
   * The names of the groups that the user is in, in ascending order. In decisions about an API key, these are only
   * the groups that the key has. The service of the previous version names none.
   */
  readonly groups: readonly string[];
  /** The time at which the account ends; `undefined` if it has no end. */
  readonly until: Date | undefined;
}

/** The result of a login. */
export interface Login {
  readonly accessToken: string;
  readonly user: User;
}

/**
 * A page of users by ascending id. `next` is the value of `after` that requests the next page; `undefined` on
 * the last page.
 */
export interface UserPage {
  readonly users: User[];
  readonly next: number | undefined;
}

/** The form of the names of roles and groups. */
export const NAME = /^[a-z][a-z0-9_-]{0,31}$/;
const NUMBERS = new Map<Role, WireRole>([
  ["user", WireRole.ROLE_USER],
  ["author", WireRole.ROLE_AUTHOR],
  ["admin", WireRole.ROLE_ADMIN],
]);

/**
 * Returns the fields of a role in a request: its name, and its number for the previous version of the service,
 * which refuses roles without a number.
 */
export function roleFields(role: Role): { roleName: string; role: WireRole } {
  return { roleName: role, role: NUMBERS.get(role) ?? WireRole.ROLE_UNSPECIFIED };
}

/** Returns the message that requires one of these roles or one of these groups. auth-service checks their names. */
export function allowedRoles(roles: readonly Role[], groups: readonly string[] = []): AllowedRoles {
  // The previous version reads only the numbers. It must admit no user by an added role, and refuse an invalid name.
  const known = roles.filter((role) => NUMBERS.has(role) || !NAME.test(role));
  const numbers = known.map((role) => roleFields(role).role);
  return { roleNames: [...roles], roles: numbers, groupNames: [...groups] };
}

/** Reads a user. Throws `Malformed` without an id or a role, rather than return a user without rights. */
export function userFrom(message: WireUser | undefined): User {
  if (!message || message.id < 1n) throw new Malformed("a user without an id");
  const { username, disabled, groupNames } = message;
  const role = roleFrom(message.roleName, message.role);
  const until = optionalTimeFrom(message.until);
  return { id: idFrom(message.id), username, role, disabled, groups: groupNames, until };
}

/**
 * Returns the role of a response: its name, or its number in a response of the previous version.
 *
 * Throws `Malformed` if there is neither, because any role would be a guess.
 */
export function roleFrom(name: string, number: WireRole = WireRole.ROLE_UNSPECIFIED): Role {
  const role = name || [...NUMBERS.keys()].find((known) => NUMBERS.get(known) === number) || "";
  if (!NAME.test(role)) throw new Malformed("an unknown role");
  return role;
}

export function optionalId(id: number | undefined): bigint | undefined {
  return id === undefined ? undefined : BigInt(id);
}

export function optionalIdFrom(id: bigint | undefined): number | undefined {
  return id === undefined ? undefined : idFrom(id);
}

/** Returns the time of a number of Unix seconds. Throws `Malformed` if `Date` has no such time. */
export function optionalTimeFrom(seconds: bigint | undefined): Date | undefined {
  if (seconds === undefined) return undefined;
  const time = new Date(Number(seconds) * 1000);
  if (Number.isNaN(time.getTime())) throw new Malformed("a time beyond all years");
  return time;
}

/** Returns an id or a revision as a number. Throws `Malformed` if a number cannot hold it exactly. */
export function idFrom(id: bigint): number {
  if (id > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed("an id that is too large");
  return Number(id);
}
