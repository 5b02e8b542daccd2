/** Groups and memberships, as the service returns them. */

import { Malformed } from "./errors.js";
import type {
  Group as WireGroup,
  Member as WireMember,
  UserGroup as WireUserGroup,
} from "./generated/rolegate/auth/v1/auth.js";
import { idFrom } from "./user.js";

/** A group of users. */
export interface Group {
  readonly id: number;
  /** The name, which never changes. */
  readonly name: string;
  /** The number of users who are in the group. */
  readonly members: number;
}

/**
 * A page of groups by ascending id. `next` is the value of `after` that requests the next page; `undefined` on
 * the last page.
 */
export interface GroupPage {
  readonly groups: Group[];
  readonly next: number | undefined;
}

/** A user who is in a group. */
export interface Member {
  readonly userId: number;
  readonly username: string;
  /** The time at which the membership ends; `undefined` if it never ends. */
  readonly until: Date | undefined;
}

/**
 * A page of the members of a group by ascending user id. `next` is the value of `after` that requests the next
 * page; `undefined` on the last page.
 */
export interface MemberPage {
  readonly members: Member[];
  readonly next: number | undefined;
}

/** A group that a user is in. */
export interface UserGroup {
  readonly id: number;
  readonly name: string;
  /** The time at which the membership ends; `undefined` if it never ends. */
  readonly until: Date | undefined;
}

/** A membership of the user of a `UserChange`. */
export interface Membership {
  /** The name of the group. */
  readonly group: string;
  /** The time at which the membership ends; `undefined` if it never ends. No change is sent at that time. */
  readonly until: Date | undefined;
}

/** Reads a group. Throws `Malformed` if it has no id or no name. */
export function groupFrom(message: WireGroup | undefined): Group {
  if (!message || message.id < 1n || !message.name) throw new Malformed("a group without an id or a name");
  return { id: idFrom(message.id), name: message.name, members: idFrom(message.members) };
}

/** Reads a member. Throws `Malformed` if it has no id. */
export function memberFrom({ userId, username, until }: WireMember): Member {
  if (userId < 1n) throw new Malformed("a member without an id");
  return { userId: idFrom(userId), username, until };
}

/** Reads a group of a user. Throws `Malformed` if it has no id or no name. */
export function userGroupFrom({ id, name, until }: WireUserGroup): UserGroup {
  if (id < 1n || !name) throw new Malformed("a group without an id or a name");
  return { id: idFrom(id), name, until };
}

/** Reads a membership. Throws `Malformed` if the group has no name. */
export function membershipFrom({ name, until }: WireUserGroup): Membership {
  if (!name) throw new Malformed("a group without a name");
  return { group: name, until };
}
