/** Makes calls within a deadline, builds their metadata, and repeats reads that have reached no replica. */

import { type Client, Metadata } from "@grpc/grpc-js";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Refused, RolegateError, Unavailable } from "./errors.js";
import { errorOf } from "./status.js";

/** The deadline in milliseconds of decisions and reads, which take only a few milliseconds. */
export const CALL_TIMEOUT = 5_000;
/**
 * The deadline in milliseconds of calls that hash a password. Hashing takes a third of a second, after a wait
 * in a queue.
 */
export const PASSWORD_TIMEOUT = 10_000;
/** The delays in milliseconds before the second and the third attempt of a read that reached no replica. */
const RETRY_DELAYS = [10, 40];
/** The maximum difference between the timers of client and service, in milliseconds. */
const CLOCK_TOLERANCE = 100;
/** The maximum number of bytes for the ids of requests that share a call. A peer refuses a header that is too long. */
const MAX_ID_LIST = 9 * 1024;

/** The request that a call serves. The service accepts both fields only from trusted callers. */
export interface Context {
  readonly clientAddress?: string | undefined;
  readonly requestId?: string | undefined;
}

interface Codec<Message> {
  encode(message: Message): { finish(): Uint8Array };
  decode(bytes: Uint8Array): Message;
}

/** A method of the contract. */
export interface Method<Request, Response> {
  readonly name: string;
  readonly request: Codec<Request>;
  readonly response: Codec<Response>;
  /** True if the service hashes a password for the call. */
  readonly hashes?: boolean;
  /** True if the call changes nothing, so that the client may repeat it. */
  readonly isRead?: boolean;
}

/**
 * Returns the token unchanged. Throws `TOKEN_INVALID` for a text that cannot be a token, because it would only
 * take space in a batch, and metadata cannot carry it.
 */
export function checkedToken(token: string): string {
  if (!/^[!-~]{1,4096}$/.test(token)) throw new Refused("TOKEN_INVALID");
  return token;
}

/** Returns the metadata of a call, with the token `actor` if there is one. */
export function metadataOf(context: Context, actor?: string): Metadata {
  const metadata = new Metadata();
  const { clientAddress, requestId } = context;
  if (clientAddress !== undefined) {
    if (!isIP(clientAddress)) throw new TypeError("clientAddress is not an IP address");
    metadata.set("x-client-address", clientAddress);
  }
  if (requestId !== undefined) {
    if (!/^[\w.:+/=@-]{1,64}$/.test(requestId)) throw new TypeError("requestId is not a request id");
    metadata.set("x-request-id", requestId);
  }
  if (actor !== undefined) metadata.set("authorization", `Bearer ${checkedToken(actor)}`);
  return metadata;
}

/**
 * Returns the metadata of a call that requests with these contexts share: as many of their ids as fit into a
 * header.
 */
export function sharedMetadata(contexts: readonly Context[]): Metadata {
  const metadata = new Metadata();
  let ids = contexts.flatMap(({ requestId }) => requestId ?? []).join(",");
  if (ids.length > MAX_ID_LIST) ids = ids.slice(0, ids.lastIndexOf(",", MAX_ID_LIST));
  if (ids) metadata.set("x-request-id", ids);
  return metadata;
}

/**
 * Makes a call and returns the response. Repeats the call if it changes nothing and has reached no replica.
 *
 * `deadline` is a time of `performance.now()`.
 */
export async function call<Request, Response>(
  client: Client,
  service: string,
  method: Method<Request, Response>,
  message: Request,
  metadata: Metadata,
  deadline: number,
): Promise<Response> {
  const path = `/${service}/${method.name}`;
  const attempt = () =>
    new Promise<Response>((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        (request: Request) => Buffer.from(method.request.encode(request).finish()),
        (bytes: Buffer) => method.response.decode(bytes),
        message,
        metadata,
        // gRPC accepts the deadline only as a time of the machine's clock, although an administrator may set
        // that clock during the call.
        { deadline: Date.now() + deadline - performance.now() },
        (error, response) => {
          if (response) resolve(response);
          else if (!error) reject(new Unavailable());
          else reject(errorOf(error, performance.now() + CLOCK_TOLERANCE >= deadline));
        },
      );
    });
  for (const delay of method.isRead ? RETRY_DELAYS : []) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error as RolegateError;
      await sleep(delay);
    }
  }
  return attempt();
}
