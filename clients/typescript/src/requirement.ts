/** What a decision requires of the user. */

import type { AllowedRoles } from "./generated/rolegate/auth/v1/auth.js";
import { allowedRoles, type Role } from "./user.js";

/**
 * One of these roles or one of these groups. A requirement without any name is refused, because it must not stand for
 * any user.
 */
export interface Requirement {
  readonly roles?: readonly Role[] | undefined;
  readonly groups?: readonly string[] | undefined;
}

/** A requirement, or only its roles. */
export type RolesOrRequirement = readonly Role[] | Requirement;

/** Converts a list of roles to a requirement. Throws a `TypeError` for anything that has no lists of names. */
export function requirementFrom(required: RolesOrRequirement): Requirement {
  const requirement = isList(required) ? { roles: required } : required;
  const lists = typeof requirement === "object" ? [requirement.roles, requirement.groups] : [null];
  // A caller without types could pass a string, which would count as a list of letters.
  if (!lists.every((names) => names === undefined || isList(names))) {
    throw new TypeError("roles and groups must be lists");
  }
  return requirement;
}

/** Returns the message for a requirement. auth-service checks the names. */
export function messageFor(required: RolesOrRequirement): AllowedRoles {
  const { roles = [], groups = [] } = requirementFrom(required);
  return allowedRoles(roles, groups);
}

/** Returns a text for the log that says what a requirement needs. `undefined` stands for any user. */
export function describeRequirement(required: RolesOrRequirement | undefined): string {
  if (required === undefined) return "a user";
  const { roles = [], groups } = requirementFrom(required);
  const parts = [];
  if (roles.length > 0 || !groups) parts.push(`one of the roles ${JSON.stringify(roles)}`);
  if (groups) parts.push(`one of the groups ${JSON.stringify(groups)}`);
  return parts.join(" or ");
}

// `Array.isArray` alone does not tell a read-only list from an object.
function isList(names: unknown): names is readonly string[] {
  return Array.isArray(names);
}
