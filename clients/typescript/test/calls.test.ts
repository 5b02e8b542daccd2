/** Every call of the contract against the real service. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { AuthClient, Malformed, Refused, Unavailable } from "../src/index.js";
import { REASONS } from "../src/errors.js";
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
  assert.deepEqual(user, { id: user.id, username: name, role: "user", disabled: false });
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
    // What cannot be a token spoils no other decision.
    { token: "a b" },
    { token, roles: ["admin"] },
    { token: "forged" },
    { token, roles: [] },
  ]);
  assert(user && "username" in user);
  const reasons = refusals.map((refusal) => (refusal as Refused).reason);
  assert.deepEqual(reasons, ["TOKEN_INVALID", "ROLE_INSUFFICIENT", "TOKEN_INVALID", "REQUEST_INVALID"]);
});

test("broken rule is in the message", async () => {
  const failure = await auth.register("typescript rule", "").catch((error: unknown) => error);
  assert(failure instanceof Refused && failure.reason === "PASSWORD_INVALID");
  assert(failure.text && failure.detail === failure.text && failure.status === 400);
});

test("requirement of no role is refused and an unknown role is a mistake", async () => {
  const token = await stage.token();
  await assert.rejects(auth.authorize(token, []), refused("REQUEST_INVALID"));
  await assert.rejects(auth.authorize(token, ["root" as "user"]), RangeError);
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
  for (const name of calls.map((call) => call.replace("batchGetUsers", "getUsernames"))) {
    assert(Object.hasOwn(AuthClient.prototype, name), name);
  }
  const rows = [...contract.matchAll(/^\/\/ {3}([A-Z_]{4,}) +[A-Z_]{4,} /gm)];
  assert.deepEqual(rows.map(([, name]) => name).sort(), Object.keys(REASONS).sort());
  assert(!(new Malformed("") instanceof Refused));
});
