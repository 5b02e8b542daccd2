/** Entries of the record of changes, sign-ins and refusals. */

import { Malformed } from "./errors.js";
import type {
  AuditEntry as WireEntry,
  ListAuditRequest,
  ListAuditResponse,
} from "./generated/rolegate/auth/v1/auth.js";
import { idFrom, optionalId, optionalIdFrom } from "./user.js";

/** An entry of the record: one event. */
export interface AuditEntry {
  /** The number of the entry. It ascends in the order of the commits, without gaps except after a restore. */
  readonly revision: number;
  /** When it happened, by the clock of the database, to the second. */
  readonly time: Date;
  /** The name of the event, such as `role_changed`. */
  readonly event: string;
  /** The user to whom it happened; `undefined` if the user is unknown. */
  readonly userId: number | undefined;
  /** The name that the user had then; `undefined` if it is unknown or was erased. */
  readonly username: string | undefined;
  /** The user who did it; `undefined` for an unknown client and for the operator. */
  readonly actorId: number | undefined;
  /** The name that the actor had then; `undefined` if there is no `actorId` or the name was erased. */
  readonly actor: string | undefined;
  /** The ids of the API key and of the session with which the actor did it. */
  readonly actorKey: number | undefined;
  readonly actorSession: number | undefined;
  /** The address of the client; `undefined` if it is unknown, was erased, or is not for this reader. */
  readonly clientAddress: string | undefined;
  /** The id of the request, or several ids, separated by commas, if requests shared a call. */
  readonly requestId: string | undefined;
  /** Details of the event, such as `{ from: "user", to: "admin" }`. They never contain a secret. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Selects entries. By default, these are the newest 50 of all. */
export interface AuditQuery {
  /** The maximum number of entries, 1 to 200. */
  readonly limit?: number | undefined;
  /** The `next` of the previous page. */
  readonly after?: number | undefined;
  readonly userId?: number | undefined;
  readonly actorId?: number | undefined;
  readonly event?: string | undefined;
  /** Selects only entries about the user `actor`, which may then be any credential. */
  readonly own?: boolean | undefined;
}

/** A page of the record, the newest entry first. `next` is `after` of the next page, `undefined` on the last. */
export interface AuditPage {
  readonly entries: AuditEntry[];
  readonly next: number | undefined;
}

export function auditRequest(query: AuditQuery): ListAuditRequest {
  const { limit = 50, event = "", own = false } = query;
  const [userId, actorId, after] = [query.userId, query.actorId, query.after].map(optionalId);
  return { userId, actorId, event, after, pageSize: limit, own };
}

export function auditPageFrom({ entries, nextAfter }: ListAuditResponse): AuditPage {
  return { entries: entries.map(entryFrom), next: optionalIdFrom(nextAfter) };
}

/** Reads an entry. Throws `Malformed` if it lacks a revision, a time or details. */
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
