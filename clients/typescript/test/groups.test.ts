/** Tests of groups and ends, with a fake service. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { endFor, updatedUserFrom } from "../src/account-end.js";
import { apiKeyFrom, newApiKeyFrom } from "../src/api-key.js";
import { groupFrom, memberFrom, userGroupFrom } from "../src/group.js";
import { type AuthClient, Malformed, Refused, Unavailable } from "../src/index.js";
import * as methods from "../src/methods.js";
import { messageFor } from "../src/requirement.js";
import { userFrom } from "../src/user.js";
import { answer, serve } from "./service.js";

const UNTIL = new Date("2030-01-02T03:04:05Z");
const SECONDS = BigInt(UNTIL.getTime() / 1000);
const NAMES = { roleName: "user", unknownRoleName: "", groupNames: [] as string[] };
const ANN = { id: 7n, username: "ann", role: 1, disabled: false, ...NAMES };
const STAFF = { id: 5n, name: "staff", members: 2n };

test("groups and members are read in pages", async () => {
  const members = [{ userId: 7n, username: "ann", until: UNTIL }, { userId: 8n, username: "bob" }];
  const answers = [
    answer(methods.LIST_GROUPS, { groups: [STAFF], nextAfter: 5n }),
    answer(methods.LIST_MEMBERS, { members }),
  ];
  const requests = await serve(answers, async (client) => {
    const groups = [{ id: 5, name: "staff", members: 2 }];
    assert.deepEqual(await client.listGroups("key", { limit: 1, after: 4 }), { groups, next: 5 });
    const [ann, bob] = [{ userId: 7, username: "ann", until: UNTIL }, { userId: 8, username: "bob", until: undefined }];
    assert.deepEqual(await client.listMembers("key", 5), { members: [ann, bob], next: undefined });
  });
  assert.deepEqual(requests, [{ pageSize: 1, after: 4n }, { groupId: 5n, pageSize: 50, after: 0n }]);
});

test("group is created, found and deleted", async () => {
  const group = { id: 5, name: "staff", members: 2 };
  const answers = [methods.CREATE_GROUP, methods.GET_GROUP, methods.DELETE_GROUP].map((method) =>
    answer<never, { group?: typeof STAFF }>(method as never, { group: STAFF }),
  );
  const requests = await serve(answers, async (client) => {
    assert.deepEqual(await client.createGroup("key", "staff"), group);
    assert.deepEqual(await client.getGroup("key", 5), group);
    assert.deepEqual(await client.deleteGroup("key", 5), group);
  });
  assert.deepEqual(requests, [{ name: "staff" }, { groupId: 5n }, { groupId: 5n }]);
});

test("membership is set with an end or without, and removed", async () => {
  const answers = [answer(methods.SET_MEMBERSHIP, {}), answer(methods.DELETE_MEMBERSHIP, {})];
  const requests = await serve(answers, async (client) => {
    await client.setMembership("key", 5, 7, UNTIL);
    await client.setMembership("key", 5, 7);
    await client.deleteMembership("key", 5, 7);
  });
  const ids = { groupId: 5n, userId: 7n };
  assert.deepEqual(requests, [{ ...ids, until: UNTIL }, { ...ids, until: undefined }, ids]);
});

test("groups of a user are read", async () => {
  const groups = [{ id: 5n, name: "staff", until: UNTIL }, { id: 6n, name: "crew" }];
  const requests = await serve([answer(methods.LIST_USER_GROUPS, { groups })], async (client) => {
    const expected = [{ id: 5, name: "staff", until: UNTIL }, { id: 6, name: "crew", until: undefined }];
    for (const userId of [undefined, 7]) assert.deepEqual(await client.listUserGroups("key", userId), expected);
  });
  assert.deepEqual(requests, [{ userId: undefined }, { userId: 7n }]);
});

test("service of the version before has no groups", async () => {
  const key = { id: 1n, userId: 7n, name: "ci", prefix: "", createdAt: new Date() };
  const previous = [
    answer(methods.AUTHORIZE, { user: ANN }),
    answer(methods.UPDATE_USER, { user: ANN }),
    answer(methods.CREATE_API_KEY, { key: "rgk_secret", apiKey: key }),
  ];
  const unknown: ((client: AuthClient) => Promise<unknown>)[] = [
    (client) => client.createGroup("key", "staff"),
    (client) => client.listGroups("key"),
    (client) => client.getGroup("key", 5),
    (client) => client.deleteGroup("key", 5),
    (client) => client.listMembers("key", 5),
    (client) => client.setMembership("key", 5, 7),
    (client) => client.deleteMembership("key", 5, 7),
    (client) => client.listUserGroups("key"),
  ];
  await serve(previous, async (client) => {
    assert.deepEqual((await client.authorize("token", { groups: ["staff"] })).groups, []);
    for (const call of unknown) await assert.rejects(call(client), Unavailable);
    await assert.rejects(client.updateUser("key", 7, { disabled: false, until: UNTIL }), Malformed);
    const isMalformed = (error: unknown) => error instanceof Malformed && !error.message.includes("rgk_secret");
    await assert.rejects(client.createApiKey("key", "ci", { groups: ["staff"] }), isMalformed);
    assert.equal((await client.createApiKey("key", "ci")).key, "rgk_secret");
  });
});

test("requests name roles, groups and ends", async () => {
  const key = { id: 1n, userId: 7n, name: "ci", prefix: "", createdAt: new Date(), groups: { names: [] } };
  const outcomes = Array.from({ length: 4 }, () => ({ outcome: { $case: "user" as const, value: ANN } }));
  const answers = [
    answer(methods.BATCH_AUTHORIZE, { outcomes }),
    answer(methods.UPDATE_USER, { user: ANN }),
    answer(methods.CREATE_API_KEY, { key: "rgk_secret", apiKey: key }),
  ];
  const requests = await serve(answers, async (client) => {
    const [token, groups] = ["a", ["staff"]];
    await client.batchAuthorize([{ token }, { token, roles: ["admin"] }, { token, groups }, { token, roles: [], groups: [] }]);
    await client.updateUser("key", 7, { until: null });
    assert.deepEqual((await client.createApiKey("key", "ci", { groups: [] })).apiKey.groups, []);
  });
  const [batch, update, created] = requests as [
    { items: { requirement: unknown }[] },
    { end: unknown },
    { groups: unknown },
  ];
  const nobody = { roles: [], roleNames: [], groupNames: [] };
  assert.deepEqual(batch.items.map(({ requirement }) => requirement), [
    { $case: "anyAuthenticated", value: {} },
    { $case: "roles", value: { ...nobody, roles: [3], roleNames: ["admin"] } },
    { $case: "roles", value: { ...nobody, groupNames: ["staff"] } },
    { $case: "roles", value: nobody },
  ]);
  assert.deepEqual(update.end, { $case: "noEnd", value: {} });
  assert.deepEqual(created.groups, { names: [] });
});

test("requirement of groups is never any user", () => {
  const nobody = { roles: [], roleNames: [], groupNames: [] };
  for (const empty of [{}, { groups: [] }, { roles: [], groups: [] }, []]) assert.deepEqual(messageFor(empty), nobody);
  assert.deepEqual(messageFor({ groups: ["staff"] }), { ...nobody, groupNames: ["staff"] });
  for (const wrong of ["staff", { groups: "staff" }, { roles: "admin", groups: ["staff"] }, 1]) {
    assert.throws(() => messageFor(wrong as never), TypeError);
  }
});

test("user has groups and an end", () => {
  const user = userFrom({ ...ANN, groupNames: ["crew", "staff"], until: SECONDS });
  assert.deepEqual([user.groups, user.until], [["crew", "staff"], UNTIL]);
  assert.deepEqual([userFrom(ANN).groups, userFrom(ANN).until], [[], undefined]);
  assert.throws(() => userFrom({ ...ANN, until: 1n << 62n }), Malformed);
});

test("key and end that the service ignores are malformed", () => {
  const key = { id: 1n, userId: 7n, name: "", prefix: "", createdAt: new Date() };
  const answered = [undefined, [], ["staff"], ["crew", "staff"]];
  for (const asked of [[], ["staff"], ["staff", "crew"]]) {
    for (const names of answered) {
      const created = { key: "rgk_secret", apiKey: { ...key, groups: names && { names } } };
      const read = () => newApiKeyFrom(created, undefined, asked).apiKey.groups;
      if (names && [...asked].sort().join() === names.join()) assert.deepEqual(read(), names);
      else assert.throws(read, Malformed, `${asked} ${names}`);
    }
  }
  assert.equal(apiKeyFrom(key).groups, undefined);
  const fraction = new Date(UNTIL.getTime() + 678);
  const answer = (until?: bigint) => ({ user: { ...ANN, until } });
  assert.deepEqual(updatedUserFrom(answer(SECONDS), fraction).until, UNTIL);
  assert.deepEqual(updatedUserFrom(answer(SECONDS), undefined).until, UNTIL);
  assert.equal(updatedUserFrom(answer(), null).until, undefined);
  for (const [until, wrong] of [[fraction, undefined], [fraction, SECONDS + 1n], [null, SECONDS]] as const) {
    assert.throws(() => updatedUserFrom(answer(wrong), until), Malformed);
  }
  assert.deepEqual(endFor(undefined), undefined);
});

test("groups that cannot be shown are malformed", () => {
  for (const bad of [undefined, { ...STAFF, id: 0n }, { ...STAFF, name: "" }]) {
    assert.throws(() => groupFrom(bad), Malformed);
  }
  assert.throws(() => memberFrom({ userId: 0n, username: "ann" }), Malformed);
  for (const bad of [{ id: 0n, name: "staff" }, { id: 5n, name: "" }]) {
    assert.throws(() => userGroupFrom(bad), Malformed);
  }
});

test("responses to errors of groups are those of the gateway", () => {
  const text = "Group is named by API keys: ci (ann).";
  const responses = {
    GROUP_NOT_FOUND: [404, "Group not found."],
    MEMBERSHIP_NOT_FOUND: [404, "Membership not found."],
    GROUP_TAKEN: [400, "Group already exists."],
    GROUP_LIMIT: [400, "A user can be in at most 100 groups."],
    GROUP_INVALID: [400, text],
    GROUP_IN_USE: [400, text],
    END_INVALID: [400, text],
  } as const;
  for (const [reason, expected] of Object.entries(responses)) {
    const { status, detail } = new Refused(reason as keyof typeof responses, text);
    assert.deepEqual([status, detail], expected, reason);
  }
});
