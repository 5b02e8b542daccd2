/** Tests of `watchUsers`. The service is a fake, because its streams end on purpose. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, mock, test } from "node:test";
import { type AuthClient, Malformed, Refused, Unavailable, type UserEvent } from "../src/index.js";
import { Watch } from "../src/user-changes.js";
import { change, HANG, progress, Refusal, Streams } from "./streams.js";

const BOUNDED = { timeout: 60_000 };
const START = { kind: "snapshot", revision: undefined };
const log = mock.method(console, "error", () => {});
beforeEach(() => log.mock.resetCalls());

const changed = (revision: number | undefined, userId: number, deleted = false) => {
  const user = { userId, username: `user ${userId}`, role: "user", disabled: false };
  return { kind: "change", revision, ...user, deleted, groups: undefined, until: undefined };
};
const progressed = (revision: number) => ({ kind: "progress", revision });
const refused = (reason: string) => (error: unknown) =>
  error instanceof Refused && error.reason === reason;

/** Returns the first events of a watch. */
async function watch(streams: Streams, count: number, fromRevision?: number): Promise<UserEvent[]> {
  const events: UserEvent[] = [];
  await streams.serve(async (client) => {
    for await (const event of client.watchUsers("key", fromRevision)) {
      if (events.push(event) === count) break;
    }
  });
  return events;
}

test("all users and the changes behind them are yielded once, through interruptions", async () => {
  const streams = new Streams(
    [change(0, 1), change(0, 2), progress(7), change(8, 9)],
    [change(9, 3, { deleted: true })],
    [],
    [progress(12), change(13, 4)],
  );
  const snapshot = [START, changed(undefined, 1), changed(undefined, 2), progressed(7)];
  const expected = [...snapshot, changed(8, 9), changed(9, 3, true), progressed(12)];
  assert.deepEqual(await watch(streams, 7), expected);
  assert.deepEqual(streams.begun, [undefined, 8, 9, 9]);
});

test("watch goes on behind a stored revision and announces nothing", async () => {
  for (const stored of [0, 3]) {
    const streams = new Streams([change(4, 1)]);
    assert.deepEqual(await watch(streams, 1, stored), [changed(4, 1)]);
    assert.deepEqual(streams.begun, [stored]);
  }
});

test("snapshot that is interrupted begins again and says so", async () => {
  const streams = new Streams([change(0, 1)], [], [change(0, 1), progress(7)]);
  const begin = [START, changed(undefined, 1)];
  assert.deepEqual(await watch(streams, 5), [...begin, ...begin, progressed(7)]);
  assert.deepEqual(streams.begun, [undefined, undefined, undefined]);
});

test("changes that are not known any more are replaced by a snapshot", async () => {
  const gap = new Refusal("SNAPSHOT_REQUIRED");
  const streams = new Streams([gap], [change(0, 1), progress(7)], [change(8, 1)]);
  const expected = [START, changed(undefined, 1), progressed(7), changed(8, 1)];
  assert.deepEqual(await watch(streams, 4, 3), expected);
  assert.deepEqual(streams.begun, [3, undefined, 7]);
});

test("last seal is sent, and another history is thrown and in the log", async () => {
  const streams = new Streams(
    [change(0, 1), progress(7, "7:a")],
    [change(8, 1)],
    [new Refusal("SNAPSHOT_REQUIRED")],
    [new Refusal("HISTORY_UNKNOWN")],
  );
  await assert.rejects(watch(streams, 5), refused("HISTORY_UNKNOWN"));
  assert.deepEqual(streams.begun, [undefined, 7, 8, undefined]);
  assert.deepEqual(streams.seals, [undefined, "7:a", "7:a", "7:a"]);
  const lines = log.mock.calls.map(({ arguments: [line] }) => String(line));
  assert.equal(lines.filter((line) => line.includes("another history of users")).length, 1);
});

test("stored seal is sent", async () => {
  const streams = new Streams([progress(4)]);
  await streams.serve(async (client) => {
    await client.watchUsers("key", undefined, {}, "3:a").next();
  });
  assert.deepEqual(streams.seals, ["3:a"]);
});

for (const reason of ["TOKEN_INVALID", "TOKEN_USER_NOT_FOUND", "ROLE_INSUFFICIENT", "INTERNAL"]) {
  test(`refusal is thrown: ${reason}`, async () => {
    const streams = new Streams([change(4, 1)], [new Refusal(reason)]);
    await assert.rejects(watch(streams, 2, 3), refused(reason));
    assert.deepEqual(streams.begun, [3, 4]);
  });
}

test("refusal for now is an interruption", async () => {
  const streams = new Streams([new Refusal("STORE_UNAVAILABLE")], [new Refusal("OVERLOADED")], [change(4, 1)]);
  assert.deepEqual(await watch(streams, 1, 3), [changed(4, 1)]);
  assert.deepEqual(streams.begun, [3, 3, 3]);
});

test("user without an id or a role is malformed", async () => {
  for (const bad of [change(4, 0), change(4, 1, { roleName: "" }), change(4, 1, { roleName: "Admin" })]) {
    await assert.rejects(watch(new Streams([bad]), 1, 3), Malformed);
  }
});

test("groups and ends are known only if the service sends them", async () => {
  const until = new Date("2030-01-02T03:04:05Z");
  const seconds = BigInt(until.getTime() / 1000);
  const groups = { groups: [{ id: 0n, name: "crew" }, { id: 0n, name: "staff", until }] };
  const streams = new Streams([
    change(4, 1),
    change(5, 1, { groups: { groups: [] } }),
    change(6, 1, { groups, until: seconds }),
  ]);
  const memberships = [{ group: "crew", until: undefined }, { group: "staff", until }];
  assert.deepEqual(await watch(streams, 3, 3), [
    changed(4, 1),
    { ...changed(5, 1), groups: [] },
    { ...changed(6, 1), groups: memberships, until },
  ]);
});

test("group without a name and time beyond all years are malformed", async () => {
  const nameless = { groups: { groups: [{ id: 0n, name: "" }] } };
  for (const bad of [change(4, 1, nameless), change(4, 1, { until: 1n << 62n })]) {
    await assert.rejects(watch(new Streams([bad]), 1, 3), Malformed);
  }
});

test("stream has no deadline, and what a later version adds is ignored", async () => {
  const streams = new Streams([{}, progress(0), change(4, 1, { roleName: "editor" })]);
  const editor = { ...changed(4, 1), role: "editor" };
  assert.deepEqual(await watch(streams, 3), [START, progressed(0), editor]);
  assert.equal(streams.calls[0]?.getDeadline(), Infinity);
});

test("outage is in the log once", async () => {
  await watch(new Streams([], [], [progress(4)], [progress(5)]), 2, 3);
  // One interruption was before revision 4, and one after it.
  const lines = log.mock.calls.map(({ arguments: [line] }) => String(line));
  assert.equal(lines.length, 2);
  for (const line of lines) assert.match(line, /^rolegate: .+ cannot be reached: the replica stops$/);
});

test("pauses are doubled until a revision comes, and the service may want longer ones", () => {
  const watch = new Watch(undefined);
  const pauses = Array.from({ length: 9 }, () => watch.pauseAfter(new Unavailable()));
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  Array.from(watch.events(change(0, 1)));
  assert.equal(watch.pauseAfter(new Refused("STORE_UNAVAILABLE")), 10_000);
  Array.from(watch.events(progress(7)));
  const overloaded = new Refused("OVERLOADED");
  overloaded.retryAfter = 7;
  assert.equal(watch.pauseAfter(overloaded), 7_000);
  // The watch has forgotten its revision. A watch without a revision cannot need another snapshot.
  assert.equal(watch.pauseAfter(new Refused("SNAPSHOT_REQUIRED")), 200);
  assert.throws(() => watch.pauseAfter(new Refused("SNAPSHOT_REQUIRED")), refused("SNAPSHOT_REQUIRED"));
});

test("caller is named by a token, or by the connection alone", async () => {
  const streams = new Streams([progress(4)], [progress(4)]);
  await streams.serve(async (client) => {
    for (const actor of ["key", undefined]) {
      await client.watchUsers(actor, 3, { requestId: "id-1" }).next();
    }
    assert.throws(() => client.watchUsers("a b", 3), refused("TOKEN_INVALID"));
  });
  const values = (name: string) => streams.calls.map(({ metadata }) => metadata.get(name)[0]);
  assert.deepEqual(values("authorization"), ["Bearer key", undefined]);
  assert.deepEqual(values("x-request-id"), ["id-1", "id-1"]);
});

test("stream ends with its iterator", BOUNDED, async () => {
  const streams = new Streams([progress(4), HANG]);
  await streams.serve(async (client) => {
    const watch = client.watchUsers("key", 3);
    assert.deepEqual((await watch.next()).value, progressed(4));
    await watch.return();
    await streams.left;
  });
});

test("stream ends with its client", BOUNDED, async () => {
  const streams = new Streams();
  await streams.serve(async (client) => {
    const next = assert.rejects(client.watchUsers("key", 3).next(), Unavailable);
    await streams.hanging;
    client.close();
    await Promise.all([next, streams.left]);
  });
});

test("stream ends with its client, also while nobody waits for an event", BOUNDED, async () => {
  const streams = new Streams([progress(4), HANG]);
  await streams.serve(async (client) => {
    const watch = client.watchUsers("key", 3);
    assert.deepEqual((await watch.next()).value, progressed(4));
    client.close();
    await streams.left;
    await assert.rejects(watch.next(), Unavailable);
  });
});

test("client that is closed waits for no pause", BOUNDED, async () => {
  const streams = new Streams([new Refusal("OVERLOADED", 3600)]);
  await streams.serve(async (client) => {
    const pausing = new Promise<void>((resolve) => log.mock.mockImplementationOnce(() => resolve()));
    const next = assert.rejects(client.watchUsers("key", 3).next(), Unavailable);
    await pausing;
    client.close();
    await next;
    await assert.rejects(client.watchUsers("key", 3).next(), Unavailable);
  });
});

test("example of the README keeps the names of the users", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "rolegate-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const code = /```js\n([^`]*?watchUsers.*?)```/s.exec(readFileSync("README.md", "utf8"))?.[1] ?? "";
  const [module, file] = [join(folder, "follow.mjs"), join(folder, "users.json")];
  writeFileSync(module, code);
  writeFileSync(file, "{}");
  const { follow } = (await import(module)) as {
    follow(auth: AuthClient, key: string, file: string): Promise<void>;
  };
  const end = new Refusal("TOKEN_INVALID");
  const snapshot = [change(0, 1), change(0, 2), progress(7), end];
  const streams = new Streams(snapshot, [change(8, 1, { deleted: true }), end]);
  const both = { 1: "user 1", 2: "user 2" };
  await streams.serve(async (client) => {
    for (const stored of [{ revision: 7, names: both }, { revision: 8, names: { 2: "user 2" } }]) {
      await assert.rejects(follow(client, "key", file), refused("TOKEN_INVALID"));
      assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), JSON.parse(JSON.stringify(stored)));
    }
  });
  assert.deepEqual(streams.begun, [undefined, 7]);
});
