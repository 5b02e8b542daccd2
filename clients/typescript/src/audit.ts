/** Entries of the record of changes, sign-ins and refusals. */

import { Malformed } from "./errors.js";
import {
  type AuditEntry as WireEntry,
  EventGroup,
  type ListAuditRequest,
  type ListAuditResponse,
} from "./generated/rolegate/auth/v1/auth.js";
import { idFrom, optionalId, optionalIdFrom } from "./user.js";

/** An entry of the record: one event. */
export interface AuditEntry {
  /** The number of the entry. It ascends in the order of the commits, without gaps except after a restore. */
  readonly revision: number;
  /** The time of the event, in whole seconds, by the clock of the database. */
  readonly time: Date;
  /** The name of the event, such as `role_changed`. */
  readonly event: string;
  /** The user whom the event is about; `undefined` if the user is unknown. */
  readonly userId: number | undefined;
  /** The name of the user at the time of the event; `undefined` if it is unknown or was erased. */
  readonly username: string | undefined;
  /** The user who caused the event; `undefined` for an unknown client and for the operator. */
  readonly actorId: number | undefined;
  /**
   * The name of the actor at the time of the event; `undefined` if there is no `actorId` or the name was
   * erased.
   */
  readonly actor: string | undefined;
  /** The ids of the API key and of the session that the actor used; `undefined` if the actor used none. */
  readonly actorKey: number | undefined;
  readonly actorSession: number | undefined;
  /** The address of the client; `undefined` if it is unknown, was erased, or may not be shown to the caller. */
  readonly clientAddress: string | undefined;
  /** The id of the request, or several ids, separated by commas, if requests shared a call. */
  readonly requestId: string | undefined;
  /** Details of the event, such as `{ from: "user", to: "admin" }`. They never contain a secret. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Selects entries of the record; by default, the newest 50 entries about all users. */
export interface AuditQuery {
  /** The maximum number of entries, 1 to 200. */
  readonly limit?: number | undefined;
  /** The `next` of the previous page; missing for the first page. */
  readonly after?: number | undefined;
  readonly userId?: number | undefined;
  readonly actorId?: number | undefined;
  readonly event?: string | undefined;
  /** Selects only entries about the actor's own user. The actor then need not be an admin. */
  readonly own?: boolean | undefined;
}

/**
 * A page of the record, the newest entry first. `next` is the value of `after` that requests the next page;
 * `undefined` on the last page.
 */
export interface AuditPage {
  readonly entries: AuditEntry[];
  readonly next: number | undefined;
}

export function auditRequest(query: AuditQuery): ListAuditRequest {
  const { limit = 50, event = "", own = false } = query;
  const [userId, actorId, after] = [query.userId, query.actorId, query.after].map(optionalId);
  const others = { username: "", actorUsername: "", eventGroup: EventGroup.EVENT_GROUP_UNSPECIFIED };
  return { userId, actorId, event, after, pageSize: limit, own, ...others };
}

export function auditPageFrom({ entries, nextAfter }: ListAuditResponse): AuditPage {
  return { entries: entries.map(entryFrom), next: optionalIdFrom(nextAfter) };
}

/** Converts an entry. Throws `Malformed` if the entry lacks a revision, a time or details. */
export function entryFrom(message: WireEntry): AuditEntry {
  const { time, event, username, actor, clientAddress, requestId } = message;
  const details = objectFrom(message.details);
  if (!time || !details || message.revision < 1n) {
    throw new Malformed("an entry without a revision, a time or details");
  }
  const about = { userId: optionalIdFrom(message.userId), username };
  const by = {
    actorId: optionalIdFrom(message.actorId),
    actor,
    actorKey: optionalIdFrom(message.actorKey),
    actorSession: optionalIdFrom(message.actorSession),
  };
  const revision = idFrom(message.revision);
  return { revision, time, event, ...about, ...by, clientAddress, requestId, details };
}

function objectFrom(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
