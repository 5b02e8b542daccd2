/** The service of README.md, in a process of its own. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Stage } from "./stage.js";

const readme = readFileSync("README.md", "utf8");

test("README has at most 60 lines", () => {
  assert(readme.trimEnd().split("\n").length <= 60);
});

test("service of the README is protected", async () => {
  mkdirSync("build/readme", { recursive: true });
  writeFileSync("build/readme/service.js", /```js\n(.*?)```/s.exec(readme)?.[1] ?? "");
  const env = { ...process.env, PORT: "0" };
  const service = spawn(process.execPath, ["build/readme/service.js"], { env });
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
