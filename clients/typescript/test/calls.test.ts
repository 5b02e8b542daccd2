/** Tests of every call of the contract against the real service. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { AuthClient, Malformed, Refused, Unavailable } from "../src/index.js";
import { apiKeyFrom, newApiKeyFrom } from "../src/api-key.js";
import { REASONS } from "../src/errors.js";
import { currentUserFrom, sessionFrom } from "../src/session.js";
import { allowedRoles, userFrom } from "../src/user.js";
import { Stage, variable } from "./stage.js";

const auth = AuthClient.fromEnv();
const stage = new Stage();
let admin = "";
before(async () => {
  admin = (await auth.login("admin", variable("ADMIN_PASSWORD"))).accessToken;
});
after(() => {
  auth.close();
  stage.close();
});

const refused = (reason: string) => (error: unknown) =>
  error instanceof Refused && error.reason === reason;

test("account is made, used and changed", async () => {
  const name = "typescript account";
  const user = await auth.register(name, "first");
  const nothing = { disabled: false, groups: [], until: undefined };
  assert.deepEqual(user, { id: user.id, username: name, role: "user", ...nothing });
  await assert.rejects(auth.register(name, "first"), refused("USERNAME_TAKEN"));
  const context = { clientAddress: "192.0.2.1", requestId: "id-1" };
  const { accessToken, user: same } = await auth.login(name, "first", context);
  assert.deepEqual(same, user);
  assert.deepEqual(await auth.verifyCredentials(name, "first"), user);
  await assert.rejects(auth.verifyCredentials(name, "wrong"), refused("CREDENTIALS_INVALID"));
  assert.deepEqual(await auth.authorize(accessToken), user);
  const wrong = auth.changePassword(accessToken, "wrong", "second");
  await assert.rejects(wrong, refused("CURRENT_PASSWORD_WRONG"));
  assert.deepEqual(await auth.changePassword(accessToken, "first", "second"), user);
  await assert.rejects(auth.authorize(accessToken), refused("TOKEN_INVALID"));
  assert.deepEqual(await auth.getUsernames([user.id, 2 ** 50]), new Map([[user.id, name]]));
});

test("admin manages users", async () => {
  const name = "typescript author";
  const author = await auth.createUser(admin, name, "password", "author");
  assert.equal(author.role, "author");
  assert.deepEqual(await auth.getUser(admin, author.id), author);
  const page = await auth.listUsers(admin, { limit: 1, usernamePrefix: name, role: "author" });
  assert.deepEqual(page, { users: [author], next: undefined });
  const first = await auth.listUsers(admin, { limit: 1 });
  const second = await auth.listUsers(admin, { limit: 1, after: first.next ?? 0 });
  assert.equal(first.users[0]?.id, first.next);
  assert((second.users[0]?.id ?? 0) > (first.next ?? 0));
  assert.equal((await auth.setUserRole(admin, author.id, "admin")).role, "admin");
  assert.equal((await auth.setUserDisabled(admin, author.id, true)).disabled, true);
  assert.equal((await auth.setUserDisabled(admin, author.id, false)).disabled, false);
  const both = await auth.updateUser(admin, author.id, { username: "typescript renamed", disabled: true });
  assert.deepEqual([both.username, both.disabled], ["typescript renamed", true]);
  const again = await auth.updateUser(admin, author.id, { username: name });
  assert.deepEqual([again.username, again.disabled], [name, true]);
  assert.equal((await auth.updateUser(admin, author.id, { disabled: false })).disabled, false);
  await assert.rejects(auth.updateUser(admin, author.id, { username: "admin" }), refused("USERNAME_TAKEN"));
  await assert.rejects(auth.updateUser(admin, 1, { username: "root" }), refused("USER_NOT_RENAMABLE"));
  await auth.setPassword(admin, author.id, "another");
  const token = (await auth.login(name, "another")).accessToken;
  await assert.rejects(auth.setPassword(token, author.id, "third"), refused("OWN_PASSWORD"));
  assert.equal((await auth.deleteUser(admin, author.id)).id, author.id);
  await assert.rejects(auth.getUser(admin, author.id), refused("USER_NOT_FOUND"));
});

test("API key acts with at most its role until it is deleted", async () => {
  const name = "typescript keys";
  const user = await auth.createUser(admin, name, "password", "author");
  const token = (await auth.login(name, "password")).accessToken;
  const expiresAt = new Date("2999-01-01T00:00:00Z");
  const { key, apiKey } = await auth.createApiKey(token, "ci", { role: "user", expiresAt });
  assert.deepEqual([apiKey.userId, apiKey.role, apiKey.name], [user.id, "user", "ci"]);
  assert(key.startsWith(apiKey.prefix));
  assert.deepEqual([apiKey.expiresAt, apiKey.lastUsedAt], [expiresAt, undefined]);
  assert.equal((await auth.authorize(key)).id, user.id);
  const asPassword = await auth.verifyCredentials(name, key, {}, { acceptApiKeys: true });
  assert.deepEqual([asPassword.id, asPassword.role], [user.id, "user"]);
  await assert.rejects(auth.verifyCredentials(name, key), refused("CREDENTIALS_INVALID"));
  await assert.rejects(auth.authorize(key, ["author"]), refused("ROLE_INSUFFICIENT"));
  const other = (await auth.createApiKey(token, "other")).apiKey;
  assert.deepEqual((await auth.listApiKeys(admin, user.id)).map(({ id }) => id), [apiKey.id, other.id]);
  assert.deepEqual((await auth.deleteApiKeys(token, apiKey.id)).map(({ id }) => id), [apiKey.id]);
  await assert.rejects(auth.authorize(key), refused("TOKEN_INVALID"));
  await assert.rejects(auth.deleteApiKeys(token, apiKey.id), refused("API_KEY_NOT_FOUND"));
  await assert.rejects(auth.createApiKey(token, ""), refused("API_KEY_INVALID"));
  assert.deepEqual(await auth.deleteApiKeys(admin, "all", user.id), [other]);
  assert.deepEqual(await auth.listApiKeys(token), []);
});

test("admin makes an API key of another user", async () => {
  const user = await auth.createUser(admin, "typescript service", "password", "author");
  const { key, apiKey } = await auth.createApiKey(admin, "service", { role: "author", userId: user.id });
  assert.deepEqual([apiKey.userId, apiKey.createdBy], [user.id, "admin"]);
  assert.deepEqual(await auth.authorize(key, ["author"]), user);
  for (const role of [undefined, "admin", "root", ""]) {
    const refusal = auth.createApiKey(admin, "service", { role, userId: user.id });
    await assert.rejects(refusal, refused("ROLE_INVALID"), role);
  }
  const token = (await auth.login("typescript service", "password")).accessToken;
  assert.equal((await auth.createApiKey(token, "own")).apiKey.createdBy, undefined);
});

test("session stands for its user until it is ended", async () => {
  const name = "typescript session";
  const user = await auth.register(name, "password");
  const options = { name: "browser", userAgent: "Lynx/2.9" };
  const { token, session, user: same } = await auth.createSession(name, "password", options);
  assert.deepEqual(same, user);
  assert.match(token, /^rgs_[\w-]{43}$/);
  assert.deepEqual([session.userId, session.name, session.userAgent], [user.id, "browser", "Lynx/2.9"]);
  assert(session.createdAt < session.idleExpiresAt && session.idleExpiresAt < session.expiresAt);
  assert.equal(session.lastUsedAt, undefined);
  assert.deepEqual(await auth.authorize(token), user);
  const current = await auth.getCurrentUser(token);
  assert.deepEqual(current, { user, credentialKind: "session", expiresAt: session.expiresAt });
  const other = await auth.createSession(name, "password");
  assert.deepEqual([other.session.name, other.session.userAgent], [undefined, undefined]);
  const listed = (await auth.listSessions(token)).map(({ id, current }) => [id, current]);
  assert.deepEqual(listed, [[session.id, true], [other.session.id, false]]);
  const ids = (sessions: { id: number }[]) => sessions.map(({ id }) => id);
  assert.deepEqual(ids(await auth.deleteSessions(token, other.session.id)), [other.session.id]);
  await assert.rejects(auth.deleteSessions(token, other.session.id), refused("SESSION_NOT_FOUND"));
  await assert.rejects(auth.authorize(other.token), refused("TOKEN_INVALID"));
  const third = await auth.createSession(name, "password");
  assert.deepEqual(ids(await auth.deleteSessions(token, "all")), [third.session.id]);
  assert.deepEqual(ids(await auth.listSessions(admin, user.id)), [session.id]);
  assert.deepEqual(ids(await auth.deleteSessions(admin, "all", user.id)), [session.id]);
  await assert.rejects(auth.authorize(token), refused("TOKEN_INVALID"));
});

test("session needs a right password and a good name, and ends with its logout", async () => {
  const name = "typescript logout";
  const user = await auth.register(name, "password");
  await assert.rejects(auth.createSession(name, "wrong"), refused("CREDENTIALS_INVALID"));
  const unnamed = auth.createSession(name, "password", { name: "" });
  await assert.rejects(unnamed, refused("SESSION_INVALID"));
  const { token } = await auth.createSession(name, "password");
  assert.deepEqual(await auth.revokeTokens(token), user);
  await assert.rejects(auth.authorize(token), refused("TOKEN_INVALID"));
});

test("credential says what it is", async () => {
  const current = await auth.getCurrentUser(admin);
  assert.deepEqual([current.user.username, current.credentialKind], ["admin", "access_token"]);
  assert((current.expiresAt?.getTime() ?? 0) > Date.now());
  const { key, apiKey } = await auth.createApiKey(admin, "me");
  const byKey = await auth.getCurrentUser(key);
  assert.deepEqual([byKey.credentialKind, byKey.expiresAt], ["api_key", undefined]);
  await auth.deleteApiKeys(admin, apiKey.id);
  await assert.rejects(auth.getCurrentUser("rgs_short"), refused("TOKEN_INVALID"));
});

test("added role is a name like the others", async () => {
  const name = "typescript editor";
  assert.deepEqual(await auth.listRoles(admin), ["user", "author", "admin", "editor"]);
  const editor = await auth.createUser(admin, name, "password", "editor");
  assert.equal(editor.role, "editor");
  const page = await auth.listUsers(admin, { usernamePrefix: name, role: "editor" });
  assert.deepEqual(page.users, [editor]);
  const token = (await auth.login(name, "password")).accessToken;
  assert.deepEqual(await auth.authorize(token, ["author", "editor"]), editor);
  await assert.rejects(auth.authorize(token, ["author"]), refused("ROLE_INSUFFICIENT"));
  const { key, apiKey } = await auth.createApiKey(token, "ci", { role: "editor" });
  assert.equal(apiKey.role, "editor");
  assert.equal((await auth.setUserRole(admin, editor.id, "user")).role, "user");
  await assert.rejects(auth.authorize(key, ["editor"]), refused("ROLE_INSUFFICIENT"));
  for (const unknown of ["reviewer", "Editor", ""]) {
    for (const refuse of [
      () => auth.setUserRole(admin, editor.id, unknown),
      () => auth.createUser(admin, `${name} 2`, "password", unknown),
      () => auth.listUsers(admin, { role: unknown }),
      () => auth.createApiKey(token, "ci", { role: unknown }),
    ]) {
      await assert.rejects(refuse, refused("ROLE_INVALID"), unknown);
    }
  }
});

/** Returns a time in whole seconds, this many hours from now. */
const later = (hours: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + hours * 3_600_000);

test("user is in a group until the membership is removed", async () => {
  const name = "typescript member";
  const user = await auth.register(name, "password");
  const token = (await auth.login(name, "password")).accessToken;
  const group = await auth.createGroup(admin, "typescript-staff");
  assert.deepEqual(group, { id: group.id, name: "typescript-staff", members: 0 });
  const groups = [group.name];
  await assert.rejects(auth.authorize(token, { groups }), refused("ROLE_INSUFFICIENT"));
  const until = later(1);
  await auth.setMembership(admin, group.id, user.id, until);
  assert.deepEqual((await auth.authorize(token, { roles: ["admin"], groups })).groups, groups);
  assert.deepEqual((await auth.getUser(admin, user.id)).groups, groups);
  assert.equal((await auth.getGroup(admin, group.id)).members, 1);
  const members = [{ userId: user.id, username: name, until }];
  assert.deepEqual(await auth.listMembers(admin, group.id), { members, next: undefined });
  const [membership] = await auth.listUserGroups(token);
  assert.deepEqual(membership, { id: group.id, name: group.name, until });
  await auth.setMembership(admin, group.id, user.id);
  assert.equal((await auth.listUserGroups(admin, user.id))[0]?.until, undefined);
  await auth.deleteMembership(admin, group.id, user.id);
  await assert.rejects(auth.authorize(token, { groups }), refused("ROLE_INSUFFICIENT"));
  const again = auth.deleteMembership(admin, group.id, user.id);
  await assert.rejects(again, refused("MEMBERSHIP_NOT_FOUND"));
  assert.deepEqual(await auth.listUserGroups(token), []);
});

test("groups follow rules", async () => {
  const user = await auth.register("typescript rules", "password");
  const group = await auth.createGroup(admin, "typescript-rules");
  await assert.rejects(auth.createGroup(admin, group.name), refused("GROUP_TAKEN"));
  for (const bad of ["", "Staff", "admin", "editor", "a".repeat(33)]) {
    await assert.rejects(auth.createGroup(admin, bad), refused("GROUP_INVALID"), bad);
  }
  const page = await auth.listGroups(admin, { limit: 1, after: group.id - 1 });
  assert.deepEqual(page.groups, [group]);
  await assert.rejects(auth.setMembership(admin, group.id, user.id, later(-1)), refused("END_INVALID"));
  await assert.rejects(auth.setMembership(admin, group.id, 2 ** 50), refused("USER_NOT_FOUND"));
  const unknown = auth.authorize(admin, { roles: ["admin"], groups: ["unknown"] });
  await assert.rejects(unknown, refused("REQUEST_INVALID"));
  await auth.setMembership(admin, group.id, user.id);
  assert.deepEqual(await auth.deleteGroup(admin, group.id), { ...group, members: 1 });
  await assert.rejects(auth.getGroup(admin, group.id), refused("GROUP_NOT_FOUND"));
  await assert.rejects(auth.authorize(admin, { groups: [group.name] }), refused("REQUEST_INVALID"));
});

test("API key has those of its groups that its user is in", async () => {
  const name = "typescript group keys";
  const user = await auth.register(name, "password");
  const token = (await auth.login(name, "password")).accessToken;
  const group = await auth.createGroup(admin, "typescript-keys");
  const groups = [group.name];
  const named = await auth.createApiKey(token, "named", { groups });
  const withRole = await auth.createApiKey(token, "role only", { role: "user" });
  const plain = await auth.createApiKey(token, "plain");
  const keys = [named, withRole, plain];
  assert.deepEqual(keys.map(({ apiKey }) => apiKey.groups), [groups, undefined, undefined]);
  await assert.rejects(auth.authorize(named.key, { groups }), refused("ROLE_INSUFFICIENT"));
  await auth.setMembership(admin, group.id, user.id);
  const users = await Promise.all(keys.map(({ key }) => auth.authorize(key)));
  assert.deepEqual(users.map((bearer) => bearer.groups), [groups, [], groups]);
  await assert.rejects(auth.deleteGroup(admin, group.id), refused("GROUP_IN_USE"));
  const unknown = auth.createApiKey(token, "unknown", { groups: ["unknown"] });
  await assert.rejects(unknown, refused("API_KEY_INVALID"));
});

test("account has an end until it is removed", async () => {
  const user = await auth.register("typescript end", "password");
  const until = later(1);
  assert.deepEqual(await auth.updateUser(admin, user.id, { until }), { ...user, until });
  assert.deepEqual((await auth.updateUser(admin, user.id, { disabled: true })).until, until);
  assert.deepEqual(await auth.updateUser(admin, user.id, { disabled: false, until: null }), user);
  await assert.rejects(auth.updateUser(admin, user.id, { until: later(-1) }), refused("END_INVALID"));
});

test("version before takes numbers and admits nobody by an added role", () => {
  for (const [name, numbers] of [["editor", []], ["Editor", [0]], ["", [0]], ["author", [2]]] as const) {
    assert.deepEqual(allowedRoles([name]), { roleNames: [name], roles: numbers, groupNames: [] });
  }
  assert.deepEqual(allowedRoles(["editor", "admin"]).roles, [3]);
  const user = { id: 1n, username: "ann", disabled: false, unknownRoleName: "", groupNames: [] };
  const roleOf = (roleName: string, role: number) => userFrom({ ...user, roleName, role }).role;
  assert.deepEqual([roleOf("", 2), roleOf("editor", 1)], ["author", "editor"]);
  for (const [name, number] of [["", 0], ["", 4], ["Admin", 3], ["a".repeat(33), 1]] as const) {
    assert.throws(() => roleOf(name, number), Malformed, name);
  }
  const key = { id: 1n, userId: 1n, name: "", prefix: "", createdAt: new Date() };
  assert.deepEqual([apiKeyFrom(key).role, apiKeyFrom({ ...key, role: 2 }).role], [undefined, "author"]);
  assert.equal(apiKeyFrom({ ...key, role: 1, roleName: "editor" }).role, "editor");
  assert.throws(() => apiKeyFrom({ ...key, roleName: "Editor" }), Malformed);
  const created = { key: "rgk_of_the_admin", apiKey: key };
  for (const userId of [1, undefined]) assert.equal(newApiKeyFrom(created, userId).key, created.key);
  assert.throws(() => newApiKeyFrom(created, 2), Malformed);
});

test("sessions and credentials that cannot be shown are malformed", () => {
  const time = new Date();
  const times = { createdAt: time, expiresAt: time, idleExpiresAt: time };
  const good = { id: 1n, userId: 1n, current: false, ...times };
  assert.equal(sessionFrom(good).name, undefined);
  for (const bad of [{ id: 0n }, ...Object.keys(times).map((name) => ({ [name]: undefined }))]) {
    assert.throws(() => sessionFrom({ ...good, ...bad }), Malformed);
  }
  for (const kind of [0, 4]) {
    assert.throws(() => currentUserFrom({ credential: { kind } }), Malformed);
  }
});

test("tokens end when they are revoked", async () => {
  const token = await stage.token();
  const user = await auth.authorize(token);
  assert.deepEqual(await auth.revokeTokens(admin, user.id), user);
  await assert.rejects(auth.authorize(token), refused("TOKEN_INVALID"));
  await assert.rejects(auth.revokeTokens(token), refused("TOKEN_INVALID"));
});

test("decisions of a batch have an outcome each", async () => {
  const token = await stage.token();
  const [user, ...refusals] = await auth.batchAuthorize([
    { token },
    // A text that cannot be a token does not affect the other decisions.
    { token: "a b" },
    { token, roles: ["admin"] },
    { token: "forged" },
    { token, roles: [] },
    { token, roles: ["user", "reviewer"] },
    { token, roles: [""] },
  ]);
  assert(user && "username" in user);
  const reasons = refusals.map((refusal) => (refusal as Refused).reason);
  const mistakes = Array(3).fill("REQUEST_INVALID");
  assert.deepEqual(reasons, ["TOKEN_INVALID", "ROLE_INSUFFICIENT", "TOKEN_INVALID", ...mistakes]);
});

test("broken rule is in the message", async () => {
  const failure = await auth.register("typescript rule", "").catch((error: unknown) => error);
  assert(failure instanceof Refused && failure.reason === "PASSWORD_INVALID");
  assert(failure.text && failure.detail === failure.text && failure.status === 400);
});

test("requirement of no role or of one that does not exist is refused", async () => {
  const token = await stage.token();
  for (const mistake of [[], [""], ["USER"], ["user,admin"], ["user", "root"], ["x".repeat(33)]]) {
    await assert.rejects(auth.authorize(token, mistake), refused("REQUEST_INVALID"));
  }
});

test("token that metadata cannot carry is invalid", async () => {
  for (const token of ["", "a b", "a\nb", "é", "x".repeat(4097)]) {
    await assert.rejects(auth.getUser(token, 1), refused("TOKEN_INVALID"));
    await assert.rejects(auth.authorize(token), refused("TOKEN_INVALID"));
  }
});

test("no service is unavailable", async () => {
  const nowhere = new AuthClient("http://127.0.0.1:1");
  await assert.rejects(nowhere.authorize("token"), Unavailable);
  nowhere.close();
});

test("URL is of a host and a port", () => {
  const wrong = ["", "auth:1", "http://auth", "http://auth:0", "http://me:secret@auth:1", "https://auth:1"];
  for (const url of wrong) {
    const isPlain = (error: unknown) =>
      error instanceof TypeError && !error.message.includes("secret");
    assert.throws(() => new AuthClient(url), isPlain, url);
  }
});

test("client has every call and every reason of the contract", () => {
  const contract = readFileSync(variable("CONTRACT"), "utf8");
  const calls = [...contract.matchAll(/rpc (\w)(\w+)/g)].map(([, a, b]) => `${a?.toLowerCase()}${b}`);
  assert(calls.length > 10);
  // Clients leave out this call, because only gateways need it, to check many credentials at once.
  const offered = calls.filter((call) => call !== "batchVerifyCredentials");
  for (const name of offered.map((call) => call.replace("batchGetUsers", "getUsernames"))) {
    assert(name in AuthClient.prototype, name);
  }
  const rows = [...contract.matchAll(/^\/\/ {3}([A-Z_]{4,}) +[A-Z_]{4,} /gm)];
  assert.deepEqual(rows.map(([, name]) => name).sort(), Object.keys(REASONS).sort());
  assert(!(new Malformed("") instanceof Refused));
});
