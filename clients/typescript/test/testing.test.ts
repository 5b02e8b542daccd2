/** Tests of `@rolegate/client/testing`, and of an Express service that uses it. */

import express from "express";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { requireRole, userOf } from "../src/express.js";
import { AuthClient } from "../src/index.js";
import { RolegateServer } from "../src/testing.js";

/** Starts a server and a service that asks it. Returns the server, and a function that sends requests with a token. */
async function service(context: TestContext) {
  const server = await RolegateServer.start("--user", "ada:a password:author", "--user", "bob:another one");
  const auth = new AuthClient(server.grpc);
  const app = express();
  app.get("/reports", requireRole(auth, "author"), (request, response) => {
    response.send(userOf(request).username);
  });
  const listening = app.listen(0, "127.0.0.1");
  await once(listening, "listening");
  context.after(() => {
    listening.close();
    auth.close();
    server.stop();
  });
  const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/reports`;
  const reports = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } });
  return { server, reports, status: async (token: string) => (await reports(token)).status };
}

test("service allows what the user may", async (context) => {
  const { server, reports, status } = await service(context);
  assert.equal(await (await reports(await server.login("ada", "a password"))).text(), "ada");
  assert.equal(await status(await server.login("bob", "another one")), 403);
});

test("user is in the groups of the test", async (context) => {
  const server = await RolegateServer.start("--user", "ada:a password", "--user", "bob:another one");
  const auth = new AuthClient(server.grpc);
  context.after(() => {
    auth.close();
    server.stop();
  });
  for (const group of ["crew", "staff", "staff"]) await server.addToGroup("ada", group);
  const [ada, bob] = [await server.login("ada", "a password"), await server.login("bob", "another one")];
  assert.deepEqual((await auth.authorize(ada, { groups: ["staff"] })).groups, ["crew", "staff"]);
  await assert.rejects(auth.authorize(bob, { groups: ["crew"] }), { reason: "ROLE_INSUFFICIENT" });
  const until = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000);
  await server.addToGroup("bob", "crew", until);
  const [crew] = await auth.listUserGroups(bob);
  assert.deepEqual([crew?.name, crew?.until], ["crew", until]);
  await assert.rejects(server.addToGroup("nobody", "crew"), /no user is named nobody/);
});

test("token ends by the clock and by a revocation", async (context) => {
  const { server, reports, status } = await service(context);
  const token = await server.login("ada", "a password");
  await server.advance(1801);
  assert.deepEqual(await (await reports(token)).json(), { detail: "Invalid or expired token." });
  const anew = await server.login("ada", "a password");
  assert.equal(await status(anew), 200);
  await server.revoke("ada");
  assert.equal(await status(anew), 401);
});

test("outage and slowness end with a reset", async (context) => {
  const { server, reports, status } = await service(context);
  const token = await server.login("ada", "a password");
  await server.outage();
  assert.equal(await status(token), 503);
  await server.reset();
  assert.equal(await status(token), 200);
  await server.slow(200);
  const started = performance.now();
  assert.equal((await reports(token)).status, 200);
  assert(performance.now() - started >= 199);
});

test("mistakes are explained", async (context) => {
  const { server } = await service(context);
  await assert.rejects(server.revoke("nobody"), /no --user is "nobody"/);
  await assert.rejects(RolegateServer.start("--user", "ada"), /ended with 64/);
  const program = process.env["ROLEGATE_TEST_SERVER"];
  process.env["ROLEGATE_TEST_SERVER"] = "/nowhere/rolegate-test-server";
  await assert.rejects(RolegateServer.start(), /cargo install .* or set ROLEGATE_TEST_SERVER/);
  if (program === undefined) delete process.env["ROLEGATE_TEST_SERVER"];
  else process.env["ROLEGATE_TEST_SERVER"] = program;
});

test("server ends with a process that is killed", async () => {
  const module = JSON.stringify(require.resolve("../src/testing.js"));
  const script = `require(${module}).RolegateServer.start().then((server) => {
    console.log(server.bearer);
    setInterval(() => {}, 1000);
  });`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "pipe"] });
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  assert.equal((await fetch(`${url}/public`)).status, 200);
  child.kill("SIGKILL");
  // The server also has this pipe open, so the pipe is closed only after the server has ended.
  await once(child.stderr.resume(), "close");
  await assert.rejects(fetch(`${url}/public`));
});
