/** Follows the changes of users, and continues after interruptions. */

import type { Client, Metadata, ServiceError } from "@grpc/grpc-js";
import { setTimeout as sleep } from "node:timers/promises";
import { Malformed, RolegateError, Unavailable } from "./errors.js";
import type { WatchUsersRequest, WatchUsersResponse } from "./generated/rolegate/auth/v1/auth.js";
import { type Membership, membershipFrom } from "./group.js";
import { WATCH_USERS } from "./methods.js";
import { errorOf } from "./status.js";
import { idFrom, optionalId, optionalTimeFrom, type Role, roleFrom } from "./user.js";

/**
 * The delay in milliseconds before the next stream. It doubles after each stream that brings no revision, up to
 * the maximum.
 */
const MIN_PAUSE = 100;
const MAX_PAUSE = 10_000;

/**
 * The events that `watchUsers` yields.
 *
 * Store the `revision` of each event together with the data that you derive from the event, even if the revision
 * is `undefined`. With the stored revision, a watch continues where the last one ended.
 *
 * Also store the `seal` of each event that has one. With the seal, `HISTORY_UNKNOWN` is thrown if the service
 * has another database than before, or a restored one, because its revisions stand for other changes. If the
 * users in that database are the right ones, watch again without revision and seal.
 */
export type UserEvent = SnapshotStart | UserChange | WatchProgress;

/**
 * A snapshot begins: all users follow by ascending id, until the next `WatchProgress`. No other users exist.
 *
 * A watch begins with a snapshot if it has no revision, or if the service no longer has the changes after its
 * revision. A snapshot that is interrupted begins again.
 */
export interface SnapshotStart {
  readonly kind: "snapshot";
  /** Always `undefined`, so that a watch that ends during the snapshot begins again with a snapshot. */
  readonly revision: undefined;
}

/**
 * The state of a user after a change. No event is sent when a membership or an account ends, so apply these ends by
 * your own clock.
 */
export interface UserChange {
  readonly kind: "change";
  /** The revision of the change; `undefined` in a snapshot. */
  readonly revision: number | undefined;
  readonly userId: number;
  readonly username: string;
  /** The user's stored role after the change. */
  readonly role: Role;
  /** True if every credential of the user is refused. */
  readonly disabled: boolean;
  /** True if the user was deleted. The id can exist again only if an operator imports it. */
  readonly deleted: boolean;
  /**
   * The groups that the user is in, by ascending name. They may be newer than the change. `undefined` means that they
   * are not known, because a service of the previous version has answered: the groups before then still count.
   */
  readonly groups: readonly Membership[] | undefined;
  /** The time at which the account ends; `undefined` if it never ends, and if the groups are not known. */
  readonly until: Date | undefined;
  /** Identifies the history of users up to this change; missing in a snapshot. */
  readonly seal?: string;
}

/** All changes up to this revision were yielded. */
export interface WatchProgress {
  readonly kind: "progress";
  readonly revision: number;
  /** Identifies the history of users up to this revision; missing if the service sends none. */
  readonly seal?: string;
}

/** The position of a watch. Each stream continues after the last revision that was yielded, in the same history. */
export class Watch {
  #revision: number | undefined;
  #seal: string | undefined;
  #pause = MIN_PAUSE;
  #isAnnounced = false;

  constructor(revision: number | undefined, seal?: string) {
    this.#revision = revision;
    this.#seal = seal;
  }

  /** Returns the request that begins the next stream. */
  request(): WatchUsersRequest {
    this.#isAnnounced = this.#revision !== undefined;
    return { fromRevision: optionalId(this.#revision), seal: this.#seal };
  }

  /** Yields the event of a response. The first event of a snapshot comes after a `SnapshotStart`. */
  *events({ item }: WatchUsersResponse): Generator<UserEvent, void> {
    // A later version of the service may send items that this one does not know.
    if (!item) return;
    const event = eventFrom(item);
    if (!this.#isAnnounced) {
      this.#isAnnounced = true;
      yield { kind: "snapshot", revision: undefined };
    }
    if (event.revision !== undefined) [this.#revision, this.#pause] = [event.revision, MIN_PAUSE];
    this.#seal = event.seal ?? this.#seal;
    yield event;
  }

  /**
   * Returns the delay in milliseconds before the next stream. Throws the failure if the next stream would fail
   * as well.
   */
  pauseAfter(failure: RolegateError): number {
    const isKnown = this.#revision !== undefined;
    if (failure.reason === "HISTORY_UNKNOWN") {
      console.error(`rolegate: the service has another history of users than the one that was watched: ${failure.message}`);
    }
    if (failure.reason === "SNAPSHOT_REQUIRED" && isKnown) this.#revision = undefined;
    else if (failure.status !== 503) throw failure;
    if (this.#pause === MIN_PAUSE) {
      console.error(`rolegate: the watch of users was interrupted and goes on: ${failure.message}`);
    }
    const pause = Math.max(this.#pause, (failure.retryAfter ?? 0) * 1000);
    this.#pause = Math.min(this.#pause * 2, MAX_PAUSE);
    return pause;
  }
}

/** Converts an event. Throws `Malformed` for a user without an id or a role, or with a group without a name. */
function eventFrom(item: NonNullable<WatchUsersResponse["item"]>): UserChange | WatchProgress {
  const seal = item.value.seal ? { seal: item.value.seal } : {};
  if (item.$case === "progress") return { kind: "progress", revision: idFrom(item.value.revision), ...seal };
  const { username, disabled, deleted, ...change } = item.value;
  if (change.userId < 1n) throw new Malformed("a user without an id");
  const [userId, role] = [idFrom(change.userId), roleFrom(change.roleName)];
  const revision = idFrom(change.revision) || undefined;
  const groups = change.groups?.groups.map(membershipFrom);
  const until = optionalTimeFrom(change.until);
  const state = { role, disabled, deleted, groups, until };
  return { kind: "change", revision, userId, username, ...state, ...seal };
}

/**
 * Yields the events of one stream after another. Throws when `closing` is aborted, or when the next stream would fail
 * as well.
 */
export async function* follow(
  client: Client,
  service: string,
  metadata: Metadata,
  watch: Watch,
  closing: AbortSignal,
): AsyncGenerator<UserEvent, void> {
  while (!closing.aborted) {
    const responses = open(client, service, metadata, watch.request());
    const cancel = () => responses.cancel();
    closing.addEventListener("abort", cancel);
    let failure: RolegateError = new Unavailable("the stream ended");
    try {
      for await (const response of responses) yield* watch.events(response as WatchUsersResponse);
    } catch (error) {
      failure = error instanceof RolegateError ? error : errorOf(error as ServiceError, false);
    } finally {
      closing.removeEventListener("abort", cancel);
      cancel();
    }
    if (closing.aborted) break;
    await sleep(watch.pauseAfter(failure), undefined, { signal: closing }).catch(() => {});
  }
  throw new Unavailable("the client is closed");
}

/** Opens a stream, which has no deadline. */
function open(client: Client, service: string, metadata: Metadata, message: WatchUsersRequest) {
  const responses = client.makeServerStreamRequest(
    `/${service}/${WATCH_USERS.name}`,
    (request: WatchUsersRequest) => Buffer.from(WATCH_USERS.request.encode(request).finish()),
    (bytes: Buffer) => WATCH_USERS.response.decode(bytes),
    message,
    metadata,
  );
  // Without a listener, the failure of a stream that is no longer read would end the process.
  return responses.on("error", () => {});
}
