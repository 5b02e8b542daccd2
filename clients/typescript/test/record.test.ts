/** Tests of the record of changes, against the real service. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { entryFrom } from "../src/audit.js";
import { AuthClient, Malformed, Refused } from "../src/index.js";
import { variable } from "./stage.js";

const auth = AuthClient.fromEnv();
let admin = "";
before(async () => {
  admin = (await auth.login("admin", variable("ADMIN_PASSWORD"))).accessToken;
});
after(() => auth.close());

const refused = (reason: string) => (error: unknown) =>
  error instanceof Refused && error.reason === reason;

test("record says in pages who did what", async () => {
  const actor = await auth.authorize(admin);
  const user = await auth.createUser(admin, "typescript record", "password", "author");
  const context = { clientAddress: "192.0.2.1", requestId: "id-1" };
  for (const role of ["user", "editor"]) await auth.setUserRole(admin, user.id, role, context);
  const query = { limit: 1, userId: user.id, actorId: actor.id, event: "role_changed" };
  const first = await auth.listAudit(admin, query);
  const second = await auth.listAudit(admin, { ...query, after: first.next });
  const [newest, oldest] = [first.entries[0], second.entries[0]];
  assert(newest && oldest && newest.revision > oldest.revision);
  assert.deepEqual([first.next, second.next], [newest.revision, undefined]);
  const by = { actorId: actor.id, actor: "admin", actorKey: undefined, actorSession: undefined };
  assert.deepEqual(newest, {
    revision: newest.revision,
    time: newest.time,
    event: "role_changed",
    userId: user.id,
    username: user.username,
    ...by,
    ...context,
    details: { from: "user", to: "editor" },
  });
  assert.deepEqual(oldest.details, { from: "author", to: "user" });
  assert(Math.abs(newest.time.getTime() - Date.now()) < 300_000);
  const token = (await auth.login(user.username, "password")).accessToken;
  const own = await auth.listAudit(token, { own: true, event: "role_changed" });
  const hidden = [newest, oldest].map((entry) => ({ ...entry, clientAddress: undefined }));
  assert.deepEqual(own, { entries: hidden, next: undefined });
  await assert.rejects(auth.listAudit(token), refused("ROLE_INSUFFICIENT"));
  await assert.rejects(auth.listAudit(admin, { limit: 201 }), refused("REQUEST_INVALID"));
});

test("watch has all users and then the changes behind each revision", async () => {
  const user = await auth.createUser(admin, "typescript watch", "password", "author");
  const snapshot = [];
  for await (const event of auth.watchUsers(admin)) {
    snapshot.push(event);
    if (event.kind === "progress") break;
  }
  const about = { kind: "change", userId: user.id, username: user.username };
  const groups = { groups: [], until: undefined };
  const created = { ...about, revision: undefined, role: "author", disabled: false, deleted: false, ...groups };
  assert.equal(snapshot[0]?.kind, "snapshot");
  assert.deepEqual(snapshot.at(-2), created);
  let revision = snapshot.at(-1)?.revision;
  await auth.setUserRole(admin, user.id, "editor");
  await auth.setUserDisabled(admin, user.id, true);
  await auth.deleteUser(admin, user.id);
  for (const [disabled, deleted] of [[false, false], [true, false], [true, true]]) {
    for await (const event of auth.watchUsers(admin, revision)) {
      if (event.kind !== "change") continue;
      assert((event.revision ?? 0) > (revision ?? 0));
      revision = event.revision;
      const { seal, groups, until, ...change } = event;
      assert.deepEqual(change, { ...about, revision, role: "editor", disabled, deleted });
      assert(Number(seal?.split(":")[0]) >= (revision ?? 0));
      break;
    }
  }
});

test("watch is refused, and begins anew behind a revision that never was", async () => {
  await auth.register("typescript watcher", "password");
  const { accessToken } = await auth.login("typescript watcher", "password");
  const refusals = [[accessToken, "ROLE_INSUFFICIENT"], ["forged", "TOKEN_INVALID"], [undefined, "TOKEN_INVALID"]];
  for (const [actor, reason = ""] of refusals) {
    await assert.rejects(auth.watchUsers(actor).next(), refused(reason), reason);
  }
  const anew = auth.watchUsers(admin, 2 ** 50);
  assert.equal((await anew.next()).value?.kind, "snapshot");
  await anew.return();
  for (const [seal, reason] of [[`1:${"0".repeat(64)}`, "HISTORY_UNKNOWN"], ["1:a", "REQUEST_INVALID"]] as const) {
    await assert.rejects(auth.watchUsers(admin, undefined, {}, seal).next(), refused(reason), reason);
  }
});

test("entry that cannot be shown is malformed", () => {
  const good = { revision: 1n, time: new Date(), event: "login_failed", details: "{}" };
  const entry = entryFrom(good);
  assert.deepEqual([entry.userId, entry.username, entry.actorId, entry.details], [...Array(3), {}]);
  for (const bad of [{ revision: 0n }, { time: undefined }, ...["", "[]", "{", "null"].map((details) => ({ details }))]) {
    assert.throws(() => entryFrom({ ...good, ...bad }), Malformed);
  }
});
