/** Tests of headers, and of gRPC statuses that do not come from the service. */

import { Metadata, status } from "@grpc/grpc-js";
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import { requireAnyOf as membersInExpress, requireUser as inExpress } from "../src/express.js";
import { type Hook, requireAnyOf as membersInFastify } from "../src/fastify.js";
import { requireAnyOf, requireRole, requireUser } from "../src/fetch.js";
import { ErrorInfo, RetryInfo } from "../src/generated/google/rpc/error_details.js";
import { Status } from "../src/generated/google/rpc/status.js";
import { authenticate, bearerToken, errorResponse, userOf } from "../src/http.js";
import { type AuthClient, DeadlineExceeded, Malformed, NotAuthenticated, Refused, Unavailable, type User } from "../src/index.js";
import type { RolesOrRequirement } from "../src/requirement.js";
import { errorOf } from "../src/status.js";

function failure(code: status, info?: Partial<ErrorInfo>, seconds?: bigint) {
  const metadata = new Metadata();
  const pack = (name: string, value: Uint8Array) => ({
    typeUrl: `type.googleapis.com/google.rpc.${name}`,
    value,
  });
  const details = [];
  if (seconds !== undefined) {
    const retryDelay = { seconds, nanos: 1 };
    details.push(pack("RetryInfo", RetryInfo.encode({ retryDelay }).finish()));
  }
  if (info) {
    const whole = { reason: "", domain: "rolegate", metadata: {}, ...info };
    details.push(pack("ErrorInfo", ErrorInfo.encode(whole).finish()));
  }
  const bytes = Status.encode({ code, message: "text", details }).finish();
  metadata.set("grpc-status-details-bin", Buffer.from(bytes));
  return { code, details: "text", metadata };
}

test("refusal has reason and delay", () => {
  const info = { reason: "TOO_MANY_ATTEMPTS" };
  const error = errorOf(failure(status.RESOURCE_EXHAUSTED, info, 6n), false);
  assert(error instanceof Refused);
  assert.equal(errorResponse(error).headers["retry-after"], "7");
});

test("status that is not ours decides nothing", () => {
  for (const code of [status.UNAUTHENTICATED, status.PERMISSION_DENIED]) {
    const foreign = failure(code, { reason: "TOKEN_INVALID", domain: "example.com" });
    const mangled = failure(code);
    mangled.metadata.set("grpc-status-details-bin", Buffer.from([255, 255]));
    for (const other of [failure(code), foreign, mangled]) {
      assert(errorOf(other, true) instanceof Unavailable);
    }
    const unknown = errorOf(failure(code, { reason: "FROM_THE_FUTURE" }), false);
    assert(unknown instanceof Malformed && unknown.status === 500);
    assert.equal(errorResponse(unknown).headers["rolegate-reason"], "INTERNAL");
  }
});

test("timeout is one only at the deadline", () => {
  for (const code of [status.CANCELLED, status.DEADLINE_EXCEEDED]) {
    assert(errorOf(failure(code), true) instanceof DeadlineExceeded);
    assert(errorOf(failure(code), false) instanceof Unavailable);
  }
});

test("token is unchanged and every other form is not authenticated", () => {
  for (const value of ["Bearer a.B-_c", "bearer a.B-_c", "BEARER  a.B-_c "]) {
    assert.equal(bearerToken(["Host", "x", "Authorization", value]), "a.B-_c");
  }
  for (const value of ["", "Bearer", "Bearer ", "Bearer a b", "Basic YTpi", "Bearer\ta", "Bearer é", "Bearer a\n"]) {
    assert.throws(() => bearerToken(["authorization", value]), NotAuthenticated, value);
  }
  const twice = ["authorization", "Bearer a", "Authorization", "Bearer b"];
  for (const headers of [[], twice, ["x-note", "Authorization", "x", "Bearer a"]]) {
    assert.throws(() => bearerToken(headers), NotAuthenticated);
  }
});

test("token of a fetch request is the same", () => {
  const of = (...values: string[]) => bearerToken(new Headers(values.map((value) => ["authorization", value])));
  for (const value of ["Bearer a.B-_c", "bearer a.B-_c", "BEARER  a.B-_c "]) assert.equal(of(value), "a.B-_c");
  const wrong = [[], [""], ["Bearer"], ["Bearer a b"], ["Basic YTpi"], ["Bearer a", "Bearer b"], ["Bearer a", "x"]];
  for (const values of wrong) assert.throws(() => of(...values), NotAuthenticated, values.join());
});

test("handler of a fetch request runs for its users only", async () => {
  const ann = { id: 7, username: "ann", role: "user", disabled: false, groups: [], until: undefined };
  const asked: unknown[] = [];
  const client = {
    authorize: async (token: string, required?: RolesOrRequirement) => {
      asked.push([token, required]);
      if (token === "down") throw new Unavailable();
      if (Array.isArray(required) && !required.includes("user")) throw new Refused("ROLE_INSUFFICIENT");
      return ann;
    },
  } as unknown as AuthClient;
  const greet = (_: Request, { username }: User, more?: { id: number }) => new Response(`${username} ${more?.id}`);
  const get = (token?: string) =>
    new Request("http://a/", token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  const open = requireUser(client, greet);
  assert.equal(await (await open(get("a"), { id: 5 })).text(), "ann 5");
  const missing = await open(get());
  assert.deepEqual([missing.status, missing.headers.get("www-authenticate")], [401, "Bearer"]);
  assert.deepEqual(await missing.json(), { detail: "Not authenticated." });
  const down = await open(get("down"));
  assert.deepEqual([down.status, down.headers.get("retry-after")], [503, "1"]);
  assert.equal((await requireRole(client, ["user"], greet)(get("a"))).status, 200);
  const reached = () => assert.fail("it was let through");
  const refused = await requireRole(client, ["author"], reached)(get("a"));
  assert.deepEqual([refused.status, refused.headers.get("rolegate-reason")], [403, "ROLE_INSUFFICIENT"]);
  assert.deepEqual(asked.at(-1), ["a", ["author"]]);
  assert.throws(() => requireRole(client, "user" as unknown as string[], reached), TypeError);
  const members = { roles: ["admin"], groups: ["staff"] };
  assert.equal((await requireAnyOf(client, members, greet)(get("a"))).status, 200);
  assert.deepEqual(asked.at(-1), ["a", members]);
  for (const wrong of ["staff", { groups: "staff" }, { roles: "admin" }, undefined]) {
    assert.throws(() => requireAnyOf(client, wrong as never, reached), TypeError);
  }
  // An error that is not a `RolegateError` must not become a response.
  const broken = { authorize: () => Promise.reject(new Error("a mistake")) } as unknown as AuthClient;
  await assert.rejects(requireUser(broken, reached)(get("a")), /a mistake/);
});

test("every framework requires the groups of its route", async () => {
  const asked: unknown[] = [];
  const client = {
    authorize: async (_: string, required?: RolesOrRequirement) => void asked.push(required),
  } as unknown as AuthClient;
  const raw = { rawHeaders: ["authorization", "Bearer a"] } as IncomingMessage;
  const staff = { groups: ["staff"] };
  await new Promise((next) => membersInExpress(client, staff)(raw, {} as ServerResponse, next));
  await membersInFastify(client, staff)({ raw }, {} as Parameters<Hook>[1]);
  assert.deepEqual(asked, [staff, staff]);
  for (const requireMembers of [membersInExpress, membersInFastify]) {
    assert.throws(() => requireMembers(client, { groups: "staff" } as never), TypeError);
  }
});

test("what the next handler throws goes to the handler of errors", async () => {
  const client = { authorize: async () => ({}) } as unknown as AuthClient;
  const request = { rawHeaders: ["authorization", "Bearer a"] } as IncomingMessage;
  const seen: unknown[] = [];
  await new Promise<void>((resolve) => {
    inExpress(client)(request, {} as ServerResponse, (error) => {
      seen.push(error);
      if (seen.length === 1) throw new Error("of the handler");
      resolve();
    });
  });
  assert.match(String(seen[1]), /of the handler/);
});

test("mistake in a requirement is logged once a minute", async (context) => {
  let now = 1000;
  context.mock.method(performance, "now", () => now);
  const log = context.mock.method(console, "error", () => {});
  const client = { authorize: () => Promise.reject(new Malformed("text")) } as unknown as AuthClient;
  const head = { rawHeaders: ["authorization", "Bearer a"] };
  const cases = [[0, ["one"], 1], [59, ["one"], 1], [59, ["other"], 2], [59, undefined, 3], [60, ["one"], 4], [60, ["one"], 4]] as const;
  for (const [seconds, roles, lines] of cases) {
    now = 1000 + seconds * 1000;
    assert.equal((await authenticate({}, head, client, roles))?.status, 500);
    assert.equal(log.mock.callCount(), lines, `${seconds} ${roles}`);
  }
});

test("mistake names the roles and the groups of the requirement", async (context) => {
  const now = performance.now.bind(performance);
  context.mock.method(performance, "now", () => now() + 3_600_000);
  const log = context.mock.method(console, "error", () => {});
  const client = { authorize: () => Promise.reject(new Malformed("text")) } as unknown as AuthClient;
  const head = { rawHeaders: ["authorization", "Bearer a"] };
  const cases = [
    [[], "one of the roles []"],
    [{ groups: ["staff"] }, 'one of the groups ["staff"]'],
    [{ groups: [] }, "one of the groups []"],
    [{ roles: ["admin"], groups: ["staff", "crew"] }, 'one of the roles ["admin"] or one of the groups ["staff","crew"]'],
  ] as const;
  for (const [required, wanted] of cases) {
    log.mock.resetCalls();
    await authenticate({}, head, client, required);
    const lines = log.mock.calls.map((call) => String(call.arguments[0]));
    assert.deepEqual(lines, [`rolegate: cannot decide about a request that needs ${wanted}: text`]);
  }
});

test("route without a requirement has no user", () => {
  assert.throws(() => userOf({}));
});
