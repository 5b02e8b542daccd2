/** Tests that the user in the headers of a proxy counts only if the socket has the proxy's address. */

import express from "express";
import Fastify from "fastify";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request as send, type RequestListener } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtempSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import * as inExpress from "../src/express.js";
import * as inFastify from "../src/fastify.js";
import { IdentityRefused, NotAuthenticated, ProxyIdentity, Refused } from "../src/index.js";

const ANN = { "Rolegate-User-Id": "7", "Rolegate-Username": "ann", "Rolegate-Role": "author" };
const USER = { id: 7, username: "ann", role: "author", disabled: false, groups: [] as string[], until: undefined };

/** Makes a request object like those of Node, with a socket that reports this address. */
function from(address: string | undefined, headers: readonly (readonly [string, string])[] = Object.entries(ANN)) {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: address });
  return { socket, rawHeaders: headers.flat() };
}

const changed = (name: string, value: string) => Object.entries({ ...ANN, [name]: value });

test.beforeEach((context) => {
  (context as TestContext).mock.method(console, "warn", () => {});
});

test("user is whom the proxy names", () => {
  const identity = new ProxyIdentity(["127.0.0.1", "10.1.0.0/16", "fd00::/8"]);
  for (const peer of ["127.0.0.1", "::ffff:127.0.0.1", "10.1.255.1", "::ffff:10.1.0.1", "::ffff:a01:1", "fd00::1"]) {
    assert.deepEqual(identity.userOf(from(peer)), USER, peer);
  }
});

test("other or unknown peer is refused before its headers are read", () => {
  const identity = new ProxyIdentity(["127.0.0.1", "fd00::/8"]);
  for (const peer of ["127.0.0.2", "192.0.2.1", "::1", "::ffff:127.0.0.2", "::127.0.0.1", "fe80::1%eth0", "", "/run/a.sock", undefined]) {
    assert.throws(() => identity.userOf(from(peer)), IdentityRefused, peer);
    assert.throws(() => identity.userOf(from(peer, [])), IdentityRefused, peer);
  }
  // An object that imitates a socket may have taken its address from a header.
  const imitation = { remoteAddress: "127.0.0.1" } as Socket;
  assert.throws(() => identity.userOf({ ...from(undefined), socket: imitation }), IdentityRefused);
});

test("list of peers is required", () => {
  const wrong = [
    [], "127.0.0.1", undefined, null, [""], ["localhost"], ["0.0.0.0/0"], ["::/0"], ["127.0.0.1/33"], ["127.0.0.1/08"],
    ["127.0.0.1/"], ["::1/129"], ["::ffff:127.0.0.1"], ["::ffff:7f00:0/104"], ["fe80::1%eth0"], [1], [undefined],
  ];
  for (const peers of wrong) {
    const make = () => new ProxyIdentity(peers as string[]);
    assert.throws(make, TypeError, String(peers));
    assert.throws(() => inExpress.requireProxyUser(peers as string[]), TypeError);
    assert.throws(() => inFastify.requireProxyUser(peers as string[]), TypeError);
  }
});

test("network of everybody is named as such", () => {
  for (const peer of ["0.0.0.0/0", "::/0"]) {
    assert.throws(() => new ProxyIdentity([peer]), { name: "TypeError", message: `${peer} contains every address` });
  }
});

test("name is as typed", () => {
  const identity = new ProxyIdentity(["127.0.0.1"]);
  const names = [
    ["ann b", "ann b"], ["bea@corp.example", "bea@corp.example"], ["bea%40corp.example", "bea@corp.example"],
    ["j%C3%B6rg %25%2C%2B", "jörg %,+"], ["%20ann%20", " ann "], ["a%00%0Ab", "a\0\nb"], ["CORP\\ann", "CORP\\ann"],
  ] as const;
  for (const [value, name] of names) {
    assert.equal(identity.userOf(from("127.0.0.1", changed("Rolegate-Username", value))).username, name);
  }
});

test("malformed, missing or repeated header is refused", () => {
  const identity = new ProxyIdentity(["127.0.0.1"]);
  const bad = {
    "Rolegate-User-Id": ["", "0", "-1", "07", "1.0", " 7", "7,7", "x", "٣", "9007199254740992"],
    "Rolegate-Username": ["", "a,b", "a+b", "a%", "a%4", "a%zz", "%FF", "%C3", "jörg", "a\tb", "a\n", "%ED%A0%80"],
    "Rolegate-Role": ["", "Admin", "author,admin", "admin ", "ädmin", "a".repeat(33)],
    "Rolegate-Groups": [",", "staff,", ",staff", "crew, staff", "Staff", "staff,staff", "städff", "a".repeat(33), " "],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      assert.throws(() => identity.userOf(from("127.0.0.1", changed(name, value))), IdentityRefused, `${name}: ${value}`);
    }
    const all = Object.entries({ ...ANN, "Rolegate-Groups": "staff" });
    for (const again of [[name, "ann"], [name.toUpperCase(), ""]] as const) {
      assert.throws(() => identity.userOf(from("127.0.0.1", [...all, again])), IdentityRefused);
    }
    if (name === "Rolegate-Groups") continue;
    const rest = Object.entries(ANN).filter(([other]) => other !== name);
    assert.throws(() => identity.userOf(from("127.0.0.1", rest)), IdentityRefused, name);
  }
  assert.throws(() => identity.userOf(from("127.0.0.1", [])), NotAuthenticated);
  // A value in the list of raw headers must not be taken for the name of a header.
  assert.throws(() => identity.userOf(from("127.0.0.1", [["x", "rolegate-username"]])), NotAuthenticated);
});

test("role may be required", () => {
  assert.deepEqual(new ProxyIdentity(["127.0.0.1"], "admin", "author").userOf(from("127.0.0.1")), USER);
  assert.throws(() => new ProxyIdentity(["127.0.0.1"], "admin").userOf(from("127.0.0.1")), Refused);
});

test("groups are those that the proxy names", () => {
  const identity = new ProxyIdentity(["127.0.0.1"]);
  assert.deepEqual(identity.userOf(from("127.0.0.1")).groups, []);
  const long = "c".repeat(32);
  const lists = [
    ["", []], ["staff", ["staff"]], ["crew,staff", ["crew", "staff"]], [`staff,a-1_b,${long}`, ["a-1_b", long, "staff"]],
  ] as const;
  for (const [value, groups] of lists) {
    const user = identity.userOf(from("127.0.0.1", changed("Rolegate-Groups", value)));
    assert.deepEqual(user, { ...USER, groups });
  }
  assert.throws(() => identity.userOf(from("127.0.0.1", [["Rolegate-Groups", "staff"]])), NotAuthenticated);
});

test("groups may be required", () => {
  const member = from("127.0.0.1", changed("Rolegate-Groups", "crew,staff"));
  for (const requirement of [
    { groups: ["staff"] },
    { groups: ["other", "crew"] },
    { roles: ["admin"], groups: ["crew"] },
    { roles: ["author"], groups: ["other"] },
    { roles: ["author"], groups: [] },
  ]) {
    assert.equal(new ProxyIdentity(["127.0.0.1"], requirement).userOf(member).id, 7);
  }
  for (const requirement of [{ groups: ["other"] }, { roles: ["admin"], groups: ["sta", "author"] }]) {
    assert.throws(() => new ProxyIdentity(["127.0.0.1"], requirement).userOf(member), Refused);
  }
  const staff = new ProxyIdentity(["127.0.0.1"], { groups: ["staff"] });
  assert.throws(() => staff.userOf(from("127.0.0.1")), Refused);
  // An empty requirement must not let any user pass.
  for (const wrong of [{}, { groups: [] }, { roles: [], groups: [] }, { groups: "staff" }, { groups: [1] }, [], null]) {
    assert.throws(() => new ProxyIdentity(["127.0.0.1"], wrong as never), TypeError, JSON.stringify(wrong));
  }
  assert.throws(() => new ProxyIdentity(["127.0.0.1"], ...(["admin", { groups: ["staff"] }] as never)), TypeError);
});

test("problem is logged once a minute and not shown", (context) => {
  let now = performance.now() + 3_600_000;
  context.mock.method(performance, "now", () => now);
  const log = context.mock.method(console, "warn", () => {});
  const identity = new ProxyIdentity(["127.0.0.1"]);
  for (const [seconds, lines] of [[0, 1], [59, 1], [60, 2]] as const) {
    now += seconds * 1000;
    const refuse = () => identity.userOf(from("192.0.2.1"));
    assert.throws(refuse, (error) => error instanceof IdentityRefused && !error.detail.includes("192.0.2.1"));
    assert.equal(log.mock.callCount(), lines);
    now -= seconds === 59 ? 59_000 : 0;
  }
  assert.match(String(log.mock.calls[0]?.arguments[0]), /not in the list of proxies; it came from 192\.0\.2\.1$/);
});

/** Sends a request from an address of this machine, and returns the status and the body. */
async function get(to: number | string, localAddress: string, path = "/", headers: Record<string, string> = {}) {
  const where = typeof to === "string" ? { socketPath: to } : { host: "127.0.0.1", port: to, localAddress };
  const outgoing = send({ ...where, path, headers: { ...ANN, ...headers }, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return [response.statusCode, await text(response)] as const;
}

const inExpressWith = (trust: unknown): RequestListener => {
  const app = express();
  if (trust !== undefined) app.set("trust proxy", trust);
  app.get("/", inExpress.requireProxyUser(["127.0.0.1"]), (request, response) => {
    response.send(inExpress.userOf(request).username);
  });
  app.get("/admin", inExpress.requireProxyUser(["127.0.0.1"], "admin"), () => assert.fail("it was let through"));
  const staff = inExpress.requireProxyUser(["127.0.0.1"], { roles: ["admin"], groups: ["staff"] });
  app.get("/staff", staff, (request, response) => {
    response.send(inExpress.userOf(request).groups.join());
  });
  return app;
};

async function inFastifyWith(trustProxy: boolean): Promise<RequestListener> {
  const app = Fastify({ trustProxy });
  app.get("/", { onRequest: inFastify.requireProxyUser(["127.0.0.1"]) }, (request) => inFastify.userOf(request).username);
  app.get("/admin", { onRequest: inFastify.requireProxyUser(["127.0.0.1"], "admin") }, () => assert.fail("it was let through"));
  const staff = inFastify.requireProxyUser(["127.0.0.1"], { roles: ["admin"], groups: ["staff"] });
  app.get("/staff", { onRequest: staff }, (request) => inFastify.userOf(request).groups.join());
  await app.ready();
  return (request, response) => app.routing(request, response);
}

const servers = {
  "Express": () => inExpressWith(undefined),
  "Express with trust proxy": () => inExpressWith(true),
  "Express with trust proxy of loopback": () => inExpressWith("loopback"),
  "Fastify": () => inFastifyWith(false),
  "Fastify with trustProxy": () => inFastifyWith(true),
};

for (const [name, make] of Object.entries(servers)) {
  for (const host of ["0.0.0.0", "::"]) {
    test(`only the socket counts in ${name} on ${host}`, async (context) => {
      const server = createServer(await make()).listen(0, host);
      context.after(() => server.close());
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const refused = [403, '{"detail":"The request did not come through the proxy."}'];
      for (const browser of [undefined, "203.0.113.9", "127.0.0.1", "127.0.0.2"]) {
        const forwarded = browser === undefined ? {} : { "X-Forwarded-For": browser, Forwarded: `for=${browser}` };
        assert.deepEqual(await get(port, "127.0.0.1", "/", forwarded), [200, "ann"]);
        assert.deepEqual(await get(port, "127.0.0.2", "/", forwarded), refused);
      }
      assert.deepEqual(await get(port, "127.0.0.1", "/", { "Rolegate-Username": "" }), refused);
      assert.equal((await get(port, "127.0.0.1", "/admin"))[0], 403);
      assert.equal((await get(port, "127.0.0.1", "/staff", { "Rolegate-Groups": "crew" }))[0], 403);
      const member = { "Rolegate-Groups": "crew,staff" };
      assert.deepEqual(await get(port, "127.0.0.1", "/staff", member), [200, "crew,staff"]);
    });
  }
}

test("Unix socket is refused", async (context) => {
  const file = join(mkdtempSync(join(tmpdir(), "rolegate-")), "socket");
  const server = createServer(inExpressWith(true)).listen(file);
  context.after(() => server.close());
  await once(server, "listening");
  for (const forwarded of [{}, { "X-Forwarded-For": "127.0.0.1" }]) {
    assert.equal((await get(file, "", "/", forwarded))[0], 403);
  }
});
