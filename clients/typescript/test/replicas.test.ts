/**
 * Tests how the client spreads calls over replicas and repeats reads. The replicas are fakes, because they must count
 * calls and fail on purpose.
 */

import {
  Server,
  ServerCredentials,
  type ServerWritableStream,
  status,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { promisify } from "node:util";
import { AuthorizeResponse, Role } from "../src/generated/rolegate/auth/v1/auth.js";
import { AuthClient, Unavailable } from "../src/index.js";

// The stage resolves the name of the replicas to these addresses.
const ADDRESSES = ["127.0.9.2", "127.0.9.3"];

/** A replica that answers the first `failures` calls with a status that does not come from the service. */
class Replica {
  readonly calls: string[] = [];
  readonly #server = new Server();

  constructor(
    readonly failures = 0,
    readonly health = "\x08\x01",
  ) {
    const same = (bytes: Buffer) => bytes;
    const codec = { requestSerialize: same, requestDeserialize: same };
    const both = { ...codec, responseSerialize: same, responseDeserialize: same };
    // The service of the previous release names the role only in `role`, so `roleName` is empty.
    const names = { roleName: "", unknownRoleName: "", groupNames: [] };
    const user = { id: 1n, username: "ann", role: Role.ROLE_USER, disabled: false, ...names };
    const answer = Buffer.from(AuthorizeResponse.encode({ user }).finish());
    for (const name of ["Authorize", "Register"]) {
      const handle: UntypedHandleCall = (_: unknown, reply: (error: object | null, answer?: Buffer) => void) => {
        this.calls.push(name);
        if (this.calls.length > this.failures) reply(null, answer);
        else reply({ code: status.UNAVAILABLE, details: "as the test wants" });
      };
      const kind = { requestStream: false, responseStream: false };
      const path = `/rolegate.auth.v1.AuthService/${name}`;
      this.#server.addService({ [name]: { path, ...kind, ...both } }, { [name]: handle });
    }
    const stream = { requestStream: false, responseStream: true };
    const Watch = { path: "/grpc.health.v1.Health/Watch", ...stream, ...both };
    const handle = (call: ServerWritableStream<Buffer, Buffer>) => {
      call.write(Buffer.from(this.health));
    };
    this.#server.addService({ Watch }, { Watch: handle });
  }

  /** Starts to listen, and returns the port. */
  async listen(address: string, port: number): Promise<number> {
    const bind = promisify(this.#server.bindAsync.bind(this.#server));
    return bind(`${address}:${port}`, ServerCredentials.createInsecure());
  }

  stop(): void {
    this.#server.forceShutdown();
  }
}

async function served(replicas: Replica[], use: (client: AuthClient) => Promise<void>): Promise<void> {
  let port = 0;
  for (const [index, replica] of replicas.entries()) {
    port = await replica.listen(ADDRESSES[index] ?? "", port);
  }
  const client = new AuthClient(`http://${replicas.length > 1 ? "auth.test" : ADDRESSES[0]}:${port}`);
  try {
    await use(client);
  } finally {
    client.close();
    for (const replica of replicas) replica.stop();
  }
}

test("calls go in turn to all replicas", async () => {
  const both = [new Replica(), new Replica()];
  await served(both, async (client) => {
    // The loop ends when each replica has had more than ten calls. At first, the client may be connected to only one.
    for (let call = 0; call < 1000 && both.some(({ calls }) => calls.length <= 10); call += 1) {
      await client.authorize("token");
    }
  });
  for (const { calls } of both) assert(calls.length > 10, String(calls.length));
});

test("replica that does not serve gets no calls", async () => {
  const [idle, busy] = [new Replica(0, "\x08\x02"), new Replica()];
  await served([idle, busy], async (client) => {
    // The idle replica may get calls until it has reported its health, soon after the client has connected to it.
    while (busy.calls.length < 10) await client.authorize("token");
    const before = idle.calls.length;
    for (let call = 0; call < 50; call += 1) await client.authorize("token");
    assert.equal(idle.calls.length, before);
  });
});

test("read is made again and a change is not", async () => {
  const twice = new Replica(2);
  await served([twice], async (client) => {
    assert.equal((await client.authorize("token")).username, "ann");
  });
  assert.deepEqual(twice.calls, ["Authorize", "Authorize", "Authorize"]);
  const always = new Replica(99);
  await served([always], async (client) => {
    await assert.rejects(client.authorize("token"), Unavailable);
    await assert.rejects(client.register("ann", "password"), Unavailable);
  });
  assert.deepEqual(always.calls, ["Authorize", "Authorize", "Authorize", "Register"]);
});

test("proxy of the environment is not used", async () => {
  process.env["http_proxy"] = process.env["grpc_proxy"] = "http://127.0.0.1:1";
  await served([new Replica()], async (client) => {
    assert.equal((await client.authorize("token")).username, "ann");
  });
});
