/** Users and roles. */

import { Malformed } from "./errors.js";
import { Role as WireRole, type User as WireUser } from "./generated/rolegate/auth/v1/auth.js";

/** The role of a user. */
export type Role = "user" | "author" | "admin";

/** A user, with the role stored when the service answered. */
export interface User {
  readonly id: number;
  readonly username: string;
  readonly role: Role;
  readonly disabled: boolean;
}

/** What a login returns. */
export interface Login {
  readonly accessToken: string;
  readonly user: User;
}

/** A page of users by ascending id; `next` is the `after` of the next page, `undefined` on the last. */
export interface UserPage {
  readonly users: User[];
  readonly next: number | undefined;
}

const TO_WIRE: Record<Role, WireRole> = {
  user: WireRole.ROLE_USER,
  author: WireRole.ROLE_AUTHOR,
  admin: WireRole.ROLE_ADMIN,
};

/** The role in the contract. An unknown name is a mistake of the program. */
export function roleNumber(role: Role): WireRole {
  if (!Object.hasOwn(TO_WIRE, role)) throw new RangeError(`no role: ${role}`);
  return TO_WIRE[role];
}

/** A user without an id or with an unknown role is `Malformed`, never a user without rights. */
export function userFrom(message: WireUser | undefined): User {
  if (!message || message.id < 1n) throw new Malformed("a user without an id");
  const { username, disabled } = message;
  return { id: idFrom(message.id), username, role: roleFrom(message.role), disabled };
}

/** A role that this version does not know is `Malformed`: any other would be a guess. */
export function roleFrom(number: WireRole): Role {
  const roles = Object.keys(TO_WIRE) as Role[];
  const role = roles.find((name) => TO_WIRE[name] === number);
  if (!role) throw new Malformed("an unknown role");
  return role;
}

/** An id that JavaScript's numbers hold exactly. */
export function idFrom(id: bigint): number {
  if (id > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed("an id that is too large");
  return Number(id);
}
