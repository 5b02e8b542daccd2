/** Tests of password links and second factors, against the real service. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { AuthClient, Malformed, Refused } from "../src/index.js";
import { newUserFrom, passwordLinkFrom, passwordLinkHolderFrom, passwordPolicyFrom } from "../src/password-link.js";
import { RolegateServer } from "../src/testing.js";
import { variable } from "./stage.js";

const auth = AuthClient.fromEnv();
let admin = "";
before(async () => {
  admin = (await auth.login("admin", variable("ADMIN_PASSWORD"))).accessToken;
});
after(() => auth.close());

const refused = (reason: string) => (error: unknown) =>
  error instanceof Refused && error.reason === reason;

/** Returns the code that an authenticator application shows (RFC 6238), `step` steps from now. */
function code(secret: string, step = 0): string {
  const digits = [...secret].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter));
  const number = digits.reduce((sum, digit) => sum * 32n + BigInt(digit), 0n);
  const key = Buffer.from(number.toString(16).padStart(40, "0"), "hex");
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + step));
  const digest = createHmac("sha1", key).update(counter).digest();
  const word = digest.readUInt32BE((digest[19] ?? 0) & 15) & 0x7fffffff;
  return String(word % 1_000_000).padStart(6, "0");
}

test("user chooses a password by a link", async () => {
  const name = "typescript link";
  const { user, link } = await auth.createUserWithLink(admin, name, "author");
  assert.deepEqual([user.username, user.role], [name, "author"]);
  assert.match(link.token, /^rgl_[\w-]{43}$/);
  const hours = (link.expiresAt.getTime() - Date.now()) / 3_600_000;
  assert(0 < hours && hours <= 25);
  await assert.rejects(auth.login(name, ""), refused("CREDENTIALS_INVALID"));
  await assert.rejects(auth.redeemPasswordLink(link.token, ""), refused("PASSWORD_INVALID"));
  // A link stays valid after it was looked up.
  assert.deepEqual(await auth.getPasswordLink(link.token), { username: name, expiresAt: link.expiresAt });
  assert.deepEqual(await auth.getPasswordPolicy(), { minLength: 1, maxLength: 72 });
  assert.equal(await auth.redeemPasswordLink(link.token, "first"), undefined);
  for (const used of [link.token, "", "rgl_"]) {
    await assert.rejects(auth.getPasswordLink(used), refused("LINK_INVALID"));
  }
  await assert.rejects(auth.redeemPasswordLink(link.token, "first"), refused("LINK_INVALID"));
  const token = (await auth.login(name, "first")).accessToken;
  const replaced = await auth.createPasswordLink(admin, user.id);
  const newer = await auth.createPasswordLink(admin, user.id);
  await assert.rejects(auth.redeemPasswordLink(replaced.token, "second"), refused("LINK_INVALID"));
  await auth.redeemPasswordLink(newer.token, "second");
  await assert.rejects(auth.authorize(token), refused("TOKEN_INVALID"));
  const actor = await auth.authorize(admin);
  await assert.rejects(auth.createPasswordLink(admin, actor.id), refused("OWN_PASSWORD"));
});

test("user with a second factor needs a code", async () => {
  const name = "typescript factor";
  const user = await auth.register(name, "password");
  let token = (await auth.login(name, "password", {}, "ignored")).accessToken;
  const early = await auth.enableSecondFactor(token, "123456").catch((error: unknown) => error);
  assert(early instanceof Refused && early.detail === "Second factor is not begun.");
  const named = await auth.enrolSecondFactor(token, "password", {}, "ACME");
  assert(named.otpauthUrl.startsWith("otpauth://totp/ACME:"));
  const { secret, otpauthUrl, recoveryCodes } = await auth.enrolSecondFactor(token, "password");
  assert(otpauthUrl.startsWith("otpauth://totp/") && otpauthUrl.includes(secret));
  const [first = "", second = ""] = recoveryCodes;
  assert.equal(new Set(recoveryCodes).size, 10);
  assert.deepEqual(await auth.getSecondFactor(token), { enabled: false, recoveryCodes: 0 });
  await assert.rejects(auth.enableSecondFactor(token, "none"), refused("OTP_WRONG"));
  assert.equal(await auth.enableSecondFactor(token, code(secret)), undefined);
  await assert.rejects(auth.authorize(token), refused("TOKEN_INVALID"));
  await assert.rejects(auth.login(name, "password"), refused("OTP_REQUIRED"));
  await assert.rejects(auth.createSession(name, "password"), refused("OTP_REQUIRED"));
  await assert.rejects(auth.verifyCredentials(name, "password"), refused("OTP_REQUIRED"));
  // Blank text counts as no code.
  await assert.rejects(auth.login(name, "password", {}, " "), refused("OTP_REQUIRED"));
  await assert.rejects(auth.login(name, "password", {}, "none"), refused("OTP_INVALID"));
  await assert.rejects(auth.createSession(name, "password", { otp: "none" }), refused("OTP_INVALID"));
  await assert.rejects(auth.login(name, "wrong", {}, first), refused("CREDENTIALS_INVALID"));
  // The code of the current step has been used, so the next one is sent.
  token = (await auth.login(name, "password", {}, code(secret, 1))).accessToken;
  const session = await auth.createSession(name, "password", { otp: first });
  assert.deepEqual(session.user, user);
  assert.deepEqual(await auth.getSecondFactor(session.token), { enabled: true, recoveryCodes: 9 });
  await assert.rejects(auth.disableSecondFactor(token, first), refused("OTP_WRONG"));
  assert.equal(await auth.disableSecondFactor(token, second), undefined);
  assert.deepEqual((await auth.login(name, "password")).user, user);
});

test("admin removes the second factor of another user", async () => {
  const name = "typescript lost phone";
  const { id } = await auth.register(name, "password");
  await assert.rejects(auth.removeSecondFactor(admin, id), refused("SECOND_FACTOR_STATE"));
  const token = (await auth.login(name, "password")).accessToken;
  await auth.enableSecondFactor(token, code((await auth.enrolSecondFactor(token, "password")).secret));
  assert.equal(await auth.removeSecondFactor(admin, id), undefined);
  assert.equal((await auth.login(name, "password")).user.id, id);
  const actor = await auth.authorize(admin);
  await assert.rejects(auth.removeSecondFactor(admin, actor.id), refused("OWN_SECOND_FACTOR"));
});

test("service may require links, and second factors of admins", async (context) => {
  const flags = ["--admins-set-passwords", "off", "--second-factor", "admins"];
  const server = await RolegateServer.start(...flags);
  const client = new AuthClient(server.grpc);
  context.after(() => {
    client.close();
    server.stop();
  });
  let token = await server.login("admin", "admin-password");
  await assert.rejects(client.authorize(token, ["admin"]), refused("SECOND_FACTOR_REQUIRED"));
  assert.equal((await client.authorize(token)).role, "user");
  const { secret, recoveryCodes } = await client.enrolSecondFactor(token, "admin-password");
  await client.enableSecondFactor(token, code(secret));
  token = await server.login("admin", "admin-password", recoveryCodes[0]);
  assert.equal((await client.authorize(token, ["admin"])).role, "admin");
  await assert.rejects(client.createUser(token, "ada", "a password"), refused("PASSWORD_LINK_REQUIRED"));
  const { link } = await client.createUserWithLink(token, "ada");
  await client.redeemPasswordLink(link.token, "a password");
  assert(await server.login("ada", "a password"));
});

test("link without its token or end is malformed", () => {
  const link = { token: "rgl_a", expiresAt: new Date() };
  assert.deepEqual(passwordLinkFrom(link), link);
  for (const bad of [undefined, { ...link, token: "" }, { token: "rgl_a" }]) {
    assert.throws(() => passwordLinkFrom(bad), Malformed);
  }
  const holder = { username: "ada", expiresAt: new Date() };
  assert.deepEqual(passwordLinkHolderFrom(holder), holder);
  for (const bad of [{ username: "ada" }, { ...holder, username: "" }]) {
    assert.throws(() => passwordLinkHolderFrom(bad), Malformed);
  }
  for (const [minLength, maxLength] of [[0, 0], [0, 72], [15, 14]] as const) {
    assert.throws(() => passwordPolicyFrom({ minLength, maxLength }), Malformed);
  }
  const names = { roleName: "user", unknownRoleName: "", groupNames: [] };
  const user = { id: 1n, username: "ada", role: 1, disabled: false, ...names };
  assert.equal(newUserFrom({ user, passwordLink: link }).user.id, 1);
  // An auth-service without password links would send this response.
  assert.throws(() => newUserFrom({ user }), Malformed);
});
