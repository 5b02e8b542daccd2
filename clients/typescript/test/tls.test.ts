/** Tests of TLS against the real service, which requires a client certificate. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AuthClient, type Tls, Unavailable } from "../src/index.js";
import { variable } from "./stage.js";

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const STAGE = JSON.parse(variable("TLS_STAGE")) as {
  url: string;
  url_of_another_name: string;
  ca: string;
  another_ca: string;
  client: Certificate;
  expired_client: Certificate;
  client_of_another_ca: Certificate;
};

const tls = (client = STAGE.client, caFile = STAGE.ca): Tls => ({
  caFile,
  certFile: client.cert,
  keyFile: client.key,
});

async function use<T>(url: string, files: Tls | undefined, call: (client: AuthClient) => Promise<T>) {
  const client = new AuthClient(url, files);
  try {
    return await call(client);
  } finally {
    client.close();
  }
}

test("calls and decisions pass with a certificate", async () => {
  await use(STAGE.url, tls(), async (client) => {
    const login = await client.login("admin", variable("ADMIN_PASSWORD"));
    assert.deepEqual(await client.authorize(login.accessToken), login.user);
  });
});

// The settings with which a handshake fails, and a part of the message that says why. If the server refuses the
// certificate, the message says only that the connection ended.
const FAULTS: Record<string, [string, Tls | undefined, RegExp]> = {
  "another name": [STAGE.url_of_another_name, tls(), /wrong\.test/],
  "another CA": [STAGE.url, tls(STAGE.client, STAGE.another_ca), /certificate/],
  "no client certificate": [STAGE.url, { caFile: STAGE.ca }, /./],
  "expired client certificate": [STAGE.url, tls(STAGE.expired_client), /./],
  "client certificate of another CA": [STAGE.url, tls(STAGE.client_of_another_ca), /./],
  "no TLS": [STAGE.url.replace("https", "http"), undefined, /./],
};

for (const [fault, [url, files, cause]] of Object.entries(FAULTS)) {
  test(`failed handshake is an outage with its cause: ${fault}`, async () => {
    await assert.rejects(use(url, files, (client) => client.authorize("token")), (error) => {
      assert(error instanceof Unavailable, String(error));
      assert.equal(error.detail, "Service temporarily unavailable.");
      const [before, said] = error.message.split(/: (.*)/s);
      assert.equal(before, "the service cannot be reached");
      assert.match(said ?? "", cause);
      return true;
    });
  });
}

test("settings are those of the programs", async () => {
  Object.assign(process.env, {
    AUTH_SERVICE_URL: STAGE.url,
    AUTH_CLIENT_TLS_CA_FILE: STAGE.ca,
    AUTH_CLIENT_TLS_CERT_FILE: STAGE.client.cert,
    AUTH_CLIENT_TLS_KEY_FILE: STAGE.client.key,
  });
  const client = AuthClient.fromEnv();
  try {
    const { user } = await client.login("admin", variable("ADMIN_PASSWORD"));
    assert.equal(user.username, "admin");
  } finally {
    client.close();
  }
});

test("file that cannot be read is a mistake", () => {
  assert.throws(() => new AuthClient(STAGE.url, { caFile: "/no such file" }), { code: "ENOENT" });
});
