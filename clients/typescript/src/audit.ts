/** The record of changes, sign-ins and refusals. */

import { Malformed } from "./errors.js";
import type {
  AuditEntry as WireEntry,
  ListAuditRequest,
  ListAuditResponse,
} from "./generated/rolegate/auth/v1/auth.js";
import { idFrom, optionalId, optionalIdFrom } from "./user.js";

/** What happened once. */
export interface AuditEntry {
  /** Ascending in the order of the commits, without gaps except after a restore. */
  readonly revision: number;
  /** By the clock of the database, to the second. */
  readonly time: Date;
  /** Such as `role_changed`. */
  readonly event: string;
  /** The user to whom it happened; `undefined`: unknown. */
  readonly userId: number | undefined;
  /** The name that the user had; `undefined`: unknown, or erased. */
  readonly username: string | undefined;
  /** Who did it; `undefined`: a client that is unknown, or the operator. */
  readonly actorId: number | undefined;
  /** The name that the actor had; `undefined`: as above, or erased. */
  readonly actor: string | undefined;
  /** The ids of the API key and of the session by which the actor did it. */
  readonly actorKey: number | undefined;
  readonly actorSession: number | undefined;
  /** `undefined`: unknown, erased, or not for this reader. */
  readonly clientAddress: string | undefined;
  /** Several, separated by commas, where requests shared a call. */
  readonly requestId: string | undefined;
  /** What changed, such as `{ from: "user", to: "admin" }`; never a secret. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Selects entries; by default the newest 50 of all. */
export interface AuditQuery {
  /** 1 to 200. */
  readonly limit?: number | undefined;
  /** The `next` of the page before. */
  readonly after?: number | undefined;
  readonly userId?: number | undefined;
  readonly actorId?: number | undefined;
  readonly event?: string | undefined;
  /** Only about the actor, which may then be any credential. */
  readonly own?: boolean | undefined;
}

/** A page of the record, the newest first; `next` is the `after` of the next page, `undefined` on the last. */
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

/** An entry without a revision, a time or details is `Malformed`. */
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
