/** The calls about groups and memberships. */

import type { Context } from "./calls.js";
import {
  type Group, groupFrom, type GroupPage, memberFrom, type MemberPage, type UserGroup, userGroupFrom,
} from "./group.js";
import * as methods from "./methods.js";
import { SignIn } from "./sign-in.js";
import { optionalId, optionalIdFrom } from "./user.js";

/**
 * The methods of `AuthClient` for these calls. A service of the previous version knows none of them, so they reject
 * with `Unavailable`.
 *
 * A class has only one base class, so this one inherits the other methods that `AuthClient` needs.
 */
export abstract class GroupCalls extends SignIn {
  /** Creates a group without members. Its name follows the rules of roles, and is none of the roles. */
  async createGroup(actor: string, name: string, context: Context = {}): Promise<Group> {
    return groupFrom((await this.call(methods.CREATE_GROUP, { name }, context, actor)).group);
  }

  /** Lists groups by ascending id. A page has at most `limit` (1 to 200) groups, with ids above `after`. */
  async listGroups(
    actor: string,
    query: { limit?: number; after?: number } = {},
    context: Context = {},
  ): Promise<GroupPage> {
    const { limit = 50, after = 0 } = query;
    const message = { pageSize: limit, after: BigInt(after) };
    const { groups, nextAfter } = await this.call(methods.LIST_GROUPS, message, context, actor);
    return { groups: groups.map(groupFrom), next: optionalIdFrom(nextAfter) };
  }

  /** Returns the group with this id. */
  async getGroup(actor: string, id: number, context: Context = {}): Promise<Group> {
    return groupFrom((await this.call(methods.GET_GROUP, { groupId: BigInt(id) }, context, actor)).group);
  }

  /**
   * Deletes a group with its memberships, and returns the deleted group. A group that API keys name cannot be
   * deleted, and rejects with `GROUP_IN_USE`.
   */
  async deleteGroup(actor: string, id: number, context: Context = {}): Promise<Group> {
    return groupFrom((await this.call(methods.DELETE_GROUP, { groupId: BigInt(id) }, context, actor)).group);
  }

  /**
   * Lists the members of a group by ascending user id. A page has at most `limit` (1 to 200) members, with user ids
   * above `after`.
   */
  async listMembers(
    actor: string,
    groupId: number,
    query: { limit?: number; after?: number } = {},
    context: Context = {},
  ): Promise<MemberPage> {
    const { limit = 50, after = 0 } = query;
    const message = { groupId: BigInt(groupId), pageSize: limit, after: BigInt(after) };
    const { members, nextAfter } = await this.call(methods.LIST_MEMBERS, message, context, actor);
    return { members: members.map(memberFrom), next: optionalIdFrom(nextAfter) };
  }

  /**
   * Adds a user to a group, or replaces the end of the membership.
   *
   * The membership ends at `until`, without its fraction of a second. Without `until`, it never ends.
   */
  async setMembership(
    actor: string,
    groupId: number,
    userId: number,
    until?: Date | undefined,
    context: Context = {},
  ): Promise<void> {
    const message = { groupId: BigInt(groupId), userId: BigInt(userId), until };
    await this.call(methods.SET_MEMBERSHIP, message, context, actor);
  }

  /** Removes a user from a group. */
  async deleteMembership(
    actor: string,
    groupId: number,
    userId: number,
    context: Context = {},
  ): Promise<void> {
    const message = { groupId: BigInt(groupId), userId: BigInt(userId) };
    await this.call(methods.DELETE_MEMBERSHIP, message, context, actor);
  }

  /**
   * Lists the groups of a user by ascending id. Without a user id, these are the groups that `actor` has, which may
   * be any credential.
   */
  async listUserGroups(actor: string, userId?: number, context: Context = {}): Promise<UserGroup[]> {
    const message = { userId: optionalId(userId) };
    const { groups } = await this.call(methods.LIST_USER_GROUPS, message, context, actor);
    return groups.map(userGroupFrom);
  }
}
