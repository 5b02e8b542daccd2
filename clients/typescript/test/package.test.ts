/** Tests of the package that `npm pack` makes, in a project of its own: the service of README.md, and the types. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Stage, variable } from "./stage.js";

const readme = readFileSync("README.md", "utf8");
const project = variable("PACKED");

const modules = /```js\n(.*?)```/s.exec(readme)?.[1] ?? "";
const commonJs = modules.replace(/^import (.+) from (".+");$/gm, "const $1 = require($2);");

test("README has at most 70 lines", () => {
  assert(readme.trimEnd().split("\n").length <= 70);
});

for (const [file, code] of [["service.mjs", modules], ["service.cjs", commonJs]] as const) {
  test(`service of the README is protected in ${file}`, async () => {
    assert.equal(code.includes("import "), code === modules);
    writeFileSync(join(project, file), code);
    const env = { ...process.env, PORT: "0" };
    const service = spawn(process.execPath, [file], { cwd: project, env });
    service.stderr.pipe(process.stderr);
    const stage = new Stage();
    try {
      const [line] = (await once(createInterface({ input: service.stdout }), "line")) as [string];
      const base = `http://127.0.0.1:${line.split(" ").at(-1)}`;
      const token = await stage.token();
      const get = (path: string, bearer: string) =>
        fetch(base + path, { headers: { authorization: `Bearer ${bearer}` } });
      assert.equal((await fetch(`${base}/hello`)).status, 401);
      assert.equal((await get("/hello", "forged")).status, 401);
      assert.match(await (await get("/hello", token)).text(), /^Hello case /);
      const refused = await get("/reports", token);
      assert.equal(refused.status, 403);
      assert.deepEqual(await refused.json(), { detail: "Insufficient privileges." });
      await stage.given("role author");
      assert.equal((await get("/reports", token)).status, 200);
    } finally {
      stage.close();
      service.kill();
    }
  });
}

const TYPED = `
import { AuthClient, type User } from "@rolegate/client";
import { requireAnyOf, requireProxyUser, requireRole } from "@rolegate/client/express";
import * as fastify from "@rolegate/client/fastify";
import * as fetched from "@rolegate/client/fetch";
import { bearerToken, errorResponse, ProxyIdentity } from "@rolegate/client";
const client: AuthClient = AuthClient.fromEnv();
export const user: Promise<User> = client.authorize("token", ["author"]);
export const protections = [requireRole(client, "author"), fastify.requireUser(client)];
export const added = requireRole(client, "editor", "admin");
export const GET = fetched.requireRole(client, ["author"], (request, user, params: { id: string }) =>
  Response.json([request.url, user.username, params.id]));
export const token: string = bearerToken(new Headers());
export const body: (error: Parameters<typeof errorResponse>[0]) => string = (error) => errorResponse(error).body;
export const proxied = new ProxyIdentity(["127.0.0.1"], "author");
export const members = [requireAnyOf(client, { roles: ["admin"], groups: ["staff"] }),
  requireProxyUser(["127.0.0.1"], { groups: ["staff"] }), requireProxyUser(["127.0.0.1"], "author", "admin")];
export const memberHook = fastify.requireAnyOf(client, { groups: ["staff"] });
export const POST = fetched.requireAnyOf(client, { groups: ["staff"] }, (request, user) => new Response(user.groups.join()));
export const decision: Promise<User> = client.authorize("token", { groups: ["staff"] });
export const ended: Promise<User> = client.updateUser("key", 2, { until: new Date() });
export const endless: Promise<User> = client.updateUser("key", 2, { until: null });
// @ts-expect-error
requireProxyUser(["127.0.0.1"], "admin", { groups: ["staff"] });
// @ts-expect-error
new ProxyIdentity();
// @ts-expect-error
fetched.requireUser(client, (request, user) => user.username);
export async function lastRevision(stored: number | undefined): Promise<number | undefined> {
  for await (const event of client.watchUsers("key", stored)) {
    stored = event.revision;
    if (event.kind === "change") console.log(event.username, event.role, event.groups?.[0]?.until, event.until);
    else if (event.kind === "progress") return event.revision;
  }
  return stored;
}
// @ts-expect-error
requireRole(client, 1);
`;

test("package has types for both kinds of modules", () => {
  const files = ["typed.mts", "typed.cts"];
  files.forEach((file) => writeFileSync(join(project, file), TYPED));
  const tsc = join(process.cwd(), "node_modules/.bin/tsc");
  const options = ["--noEmit", "--strict", "--module", "node16", "--target", "es2023", "--types", "node"];
  execFileSync(tsc, [...options, ...files], { cwd: project, stdio: "inherit" });
});
