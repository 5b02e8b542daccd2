/** Tests of the cases of `clients/conformance.json`, with the client, in Express and in Fastify. */

import express from "express";
import Fastify from "fastify";
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, type Server } from "node:net";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { AuthClient, type Requirement, RolegateError } from "../src/index.js";
import * as inExpress from "../src/express.js";
import * as inFastify from "../src/fastify.js";
import { errorResponse } from "../src/http.js";
import { describeRequirement } from "../src/requirement.js";
import { type Case, type Outcome, Stage, type Step, TABLE } from "./stage.js";

type Ask = () => Promise<Outcome>;

const stage = new Stage();
after(() => stage.close());

for (const entry of TABLE.cases) {
  test(entry.name, async () => {
    const client = AuthClient.fromEnv();
    const required = requirementOf(entry);
    const [over, stop] = await services(client, required);
    try {
      const token = await stage.token(entry.token);
      const form = entry.authorization === undefined ? "Bearer {token}" : entry.authorization;
      const header = form?.replace("{token}", token);
      const interfaces = over.map((port) => () => get(port, header));
      if (entry.authorization === undefined) interfaces.push(() => decide(client, token, required));
      for (const step of entry.steps) {
        for (const state of step.given ?? []) await stage.given(state);
        await Promise.all(interfaces.map((ask) => expect(step, ask)));
      }
    } finally {
      await stop();
      client.close();
    }
  });
}

/** Returns the roles of a case alone, or with its groups; `undefined` for any user. */
function requirementOf({ roles, groups }: Case): string[] | Requirement | undefined {
  if (groups) return { roles, groups };
  return roles.length > 0 ? roles : undefined;
}

/** Sends the request of a step as often as the step says, and asserts that each outcome is the expected one. */
async function expect(step: Step, ask: Ask): Promise<void> {
  const expected = step.expect.split(" ").map((name) => TABLE.outcomes[name]);
  const isExpected = (outcome: Outcome) => expected.some((one) => isDeepStrictEqual(outcome, one));
  const end = Date.now() + 60_000;
  for (let time = 0; time < (step.times ?? 1); time += 1) {
    let outcome = await ask();
    while (step.eventually && !isExpected(outcome) && Date.now() < end) {
      await sleep(50);
      outcome = await ask();
    }
    assert(isExpected(outcome), JSON.stringify({ step, outcome }));
  }
}

async function decide(
  client: AuthClient,
  token: string,
  required: string[] | Requirement | undefined,
): Promise<Outcome> {
  try {
    await client.authorize(token, required);
    return { status: 200 };
  } catch (error) {
    assert(error instanceof RolegateError);
    const { status, headers, body } = errorResponse(error);
    return outcome(status, headers, body);
  }
}

function outcome(status: number, headers: Record<string, unknown>, body: string): Outcome {
  if (status === 200) return { status };
  assert.equal(headers["content-type"], "application/json");
  const names = ["rolegate-reason", "www-authenticate", "retry-after"];
  const described = names.filter((name) => headers[name]);
  const entries = described.map((name) => [name, headers[name]] as const);
  return { status, ...(JSON.parse(body) as object), ...Object.fromEntries(entries) };
}

async function get(port: number, authorization: string | undefined): Promise<Outcome> {
  const headers = authorization === undefined ? {} : { authorization };
  const sent = request({ host: "127.0.0.1", port, headers, agent: false }).end();
  const [response] = await once(sent, "response");
  return outcome(response.statusCode, response.headers, await text(response));
}

test("requirement that auth-service refuses is 500 and in the log", async (context) => {
  const log = context.mock.method(console, "error", () => {});
  // The time is a minute after the tests above, within which the same mistake would not be logged again.
  const now = performance.now.bind(performance);
  context.mock.method(performance, "now", () => now() + 60_000);
  const client = AuthClient.fromEnv();
  const token = await stage.token();
  try {
    const roles = [[], [""], ["User"], ["user", "reviewer"]];
    const groups = [[], [""], ["Staff"], ["admin"], ["unknown"]].map((names) => ({ groups: names }));
    for (const required of [...roles, ...groups, { roles: ["user"], groups: ["unknown"] }]) {
      const [ports, stop] = await services(client, required);
      log.mock.resetCalls();
      for (const port of ports) {
        assert.deepEqual(await get(port, `Bearer ${token}`), TABLE.outcomes["REQUEST_INVALID"]);
        const [line = ""] = log.mock.calls.map((call) => String(call.arguments[0]));
        assert(line.includes(`${describeRequirement(required)}: REQUEST_INVALID`), line);
        assert(!line.includes(token));
        // The mistake is logged once. A refusal that the client of this service can fix is not logged.
        assert.equal((await get(port, undefined)).status, 401);
        assert.equal(log.mock.callCount(), 1);
      }
      await stop();
    }
  } finally {
    client.close();
  }
});

/** Returns the protection of a framework for this requirement. */
function protection<P>(
  framework: {
    requireUser(client: AuthClient): P;
    requireRole(client: AuthClient, ...roles: string[]): P;
    requireAnyOf(client: AuthClient, requirement: Requirement): P;
  },
  client: AuthClient,
  required: string[] | Requirement | undefined,
): P {
  if (!required) return framework.requireUser(client);
  if (Array.isArray(required)) return framework.requireRole(client, ...required);
  return framework.requireAnyOf(client, required);
}

/** Serves a protected endpoint in Express and in Fastify, and returns their ports. */
async function services(
  client: AuthClient,
  required: string[] | Requirement | undefined,
): Promise<[number[], () => Promise<void>]> {
  const app = express();
  const middleware = protection(inExpress, client, required);
  app.get("/", middleware, (req, res) => void res.json(inExpress.userOf(req)));
  const server: Server = app.listen(0, "127.0.0.1");
  await once(server, "listening");

  const fastify = Fastify();
  const onRequest = protection(inFastify, client, required);
  fastify.get("/", { onRequest }, async (req) => inFastify.userOf(req));
  await fastify.listen({ port: 0, host: "127.0.0.1" });

  const portOf = (listening: Server) => (listening.address() as AddressInfo).port;
  const stop = async () => {
    await fastify.close();
    server.close();
    await once(server, "close");
  };
  return [[portOf(server), portOf(fastify.server)], stop];
}
