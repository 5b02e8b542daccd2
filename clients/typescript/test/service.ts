/** A fake service that answers single calls. */

import { Server, ServerCredentials, type UntypedHandleCall } from "@grpc/grpc-js";
import { promisify } from "node:util";
import { AuthClient } from "../src/index.js";
import type { Method } from "../src/calls.js";

/** A method with its answer. */
export interface Answer {
  readonly method: Method<never, unknown>;
  readonly response: unknown;
}

/** Pairs a method with an answer of its type. */
export function answer<Request, Response>(method: Method<Request, Response>, response: Response): Answer {
  return { method: method as unknown as Method<never, unknown>, response };
}

/**
 * Serves these answers until `use` has ended. Any other method is unknown, as in a service that does not have it yet.
 * Returns the requests.
 */
export async function serve(answers: Answer[], use: (client: AuthClient) => Promise<void>): Promise<unknown[]> {
  const server = new Server();
  const requests: unknown[] = [];
  const same = (bytes: Buffer) => bytes;
  const codec = { requestSerialize: same, requestDeserialize: same };
  const both = { ...codec, responseSerialize: same, responseDeserialize: same };
  const Watch = { path: "/grpc.health.v1.Health/Watch", requestStream: false, responseStream: true, ...both };
  const serving = (call: { write(bytes: Buffer): void }) => call.write(Buffer.from("\x08\x01"));
  server.addService({ Watch }, { Watch: serving as UntypedHandleCall });
  for (const { method, response } of answers) {
    const path = `/rolegate.auth.v1.AuthService/${method.name}`;
    const bytes = Buffer.from(method.response.encode(response).finish());
    const handle = (call: { request: Buffer }, reply: (error: null, answer: Buffer) => void) => {
      requests.push(method.request.decode(call.request));
      reply(null, bytes);
    };
    const kind = { requestStream: false, responseStream: false };
    server.addService({ [method.name]: { path, ...kind, ...both } }, { [method.name]: handle as UntypedHandleCall });
  }
  const bind = promisify(server.bindAsync.bind(server));
  const port = await bind("127.0.0.1:0", ServerCredentials.createInsecure());
  const client = new AuthClient(`http://127.0.0.1:${port}`);
  try {
    await use(client);
  } finally {
    client.close();
    server.forceShutdown();
  }
  return requests;
}
