/** A fake service of `WatchUsers`, whose streams end on purpose. */

import { Metadata, Server, ServerCredentials, type ServerWritableStream, status } from "@grpc/grpc-js";
import { promisify } from "node:util";
import { ErrorInfo, RetryInfo } from "../src/generated/google/rpc/error_details.js";
import { Status } from "../src/generated/google/rpc/status.js";
import { WatchUsersRequest, WatchUsersResponse } from "../src/generated/rolegate/auth/v1/auth.js";
import { AuthClient } from "../src/index.js";

/** An item that ends its stream with an error of this reason. */
export class Refusal {
  readonly metadata = new Metadata();

  constructor(reason: string, retryAfter?: number) {
    const info = ErrorInfo.encode({ reason, domain: "rolegate", metadata: {} }).finish();
    const details = [{ typeUrl: "type.googleapis.com/google.rpc.ErrorInfo", value: info }];
    if (retryAfter !== undefined) {
      const value = RetryInfo.encode({ retryDelay: { seconds: BigInt(retryAfter), nanos: 0 } }).finish();
      details.push({ typeUrl: "type.googleapis.com/google.rpc.RetryInfo", value });
    }
    const bytes = Status.encode({ code: status.FAILED_PRECONDITION, message: "", details }).finish();
    this.metadata.set("grpc-status-details-bin", Buffer.from(bytes));
  }
}

/** An item at which its stream hangs. */
export const HANG = Symbol("hang");

export type Item = WatchUsersResponse | Refusal | typeof HANG;
type Call = ServerWritableStream<Buffer, Buffer>;

/**
 * Answers each call of `WatchUsers` with the next of these streams. After the last one, streams hang. A stream ends with
 * `UNAVAILABLE`, or with the `Refusal` in it.
 */
export class Streams {
  /** The revision after which each stream began. */
  readonly begun: (number | undefined)[] = [];
  /** The seal with which each stream was requested. */
  readonly seals: (string | undefined)[] = [];
  readonly calls: Call[] = [];
  /** Promises that are fulfilled as soon as a stream hangs, and as soon as a caller has left a stream. */
  readonly hanging: Promise<void>;
  readonly left: Promise<void>;
  readonly #server = new Server();

  constructor(...streams: Item[][]) {
    const same = (bytes: Buffer) => bytes;
    const codec = { requestSerialize: same, requestDeserialize: same };
    const both = { ...codec, responseSerialize: same, responseDeserialize: same };
    const kind = { requestStream: false, responseStream: true };
    const Watch = { path: "/grpc.health.v1.Health/Watch", ...kind, ...both };
    const WatchUsers = { path: "/rolegate.auth.v1.AuthService/WatchUsers", ...kind, ...both };
    let [hangs, leaves] = [() => {}, () => {}];
    this.hanging = new Promise((resolve) => (hangs = resolve));
    this.left = new Promise((resolve) => (leaves = resolve));
    this.#server.addService({ Watch }, { Watch: (call: Call) => call.write(Buffer.from("\x08\x01")) });
    const handle = (call: Call) => {
      const { fromRevision, seal } = WatchUsersRequest.decode(call.request);
      this.seals.push(seal);
      this.begun.push(fromRevision === undefined ? undefined : Number(fromRevision));
      this.calls.push(call);
      call.on("cancelled", leaves);
      for (const item of streams.shift() ?? [HANG]) {
        if (item === HANG) return hangs();
        if (item instanceof Refusal) {
          const { metadata } = item;
          return call.emit("error", { code: status.FAILED_PRECONDITION, details: "no", metadata });
        }
        call.write(Buffer.from(WatchUsersResponse.encode(item).finish()));
      }
      return call.emit("error", { code: status.UNAVAILABLE, details: "the replica stops" });
    };
    this.#server.addService({ WatchUsers }, { WatchUsers: handle });
  }

  /** Serves the streams until `use` has ended. */
  async serve(use: (client: AuthClient) => Promise<void>): Promise<void> {
    const bind = promisify(this.#server.bindAsync.bind(this.#server));
    const port = await bind("127.0.0.1:0", ServerCredentials.createInsecure());
    const client = new AuthClient(`http://127.0.0.1:${port}`);
    // If the watch takes too long, it ends with its client.
    const late = setTimeout(() => client.close(), 60_000);
    try {
      await use(client);
    } finally {
      clearTimeout(late);
      client.close();
      this.#server.forceShutdown();
    }
  }
}

export function change(revision: number, userId: number, fields: object = {}): WatchUsersResponse {
  const user = { username: `user ${userId}`, roleName: "user", disabled: false, deleted: false };
  const value = { revision: BigInt(revision), userId: BigInt(userId), ...user, ...fields };
  return { item: { $case: "change", value } };
}

export function progress(revision: number, seal?: string): WatchUsersResponse {
  return { item: { $case: "progress", value: { revision: BigInt(revision), seal } } };
}
