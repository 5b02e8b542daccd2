/** What every call needs: its messages, its deadline, and whether it may be made again. */

import { type Client, Metadata } from "@grpc/grpc-js";
import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Refused, RolegateError, Unavailable } from "./errors.js";
import { errorOf } from "./status.js";

/** Milliseconds for decisions and reads, which take few. */
export const READ_TIMEOUT = 5_000;
/** Milliseconds for calls that hash a password: a third of a second of work behind a queue. */
export const PASSWORD_TIMEOUT = 10_000;
/** Delays before the second and the third attempt of a read that reached no replica. */
const RETRY_DELAYS = [10, 40];
/** How far the timers of both sides may differ. */
const CLOCK_TOLERANCE = 100;
/** Bytes of the ids of requests that share a call; a peer refuses too long a header. */
const MAX_ID_LIST = 9 * 1024;

/** The request that a call serves. The service uses both from trusted callers only. */
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
  /** Whether it hashes a password. */
  readonly hashes?: boolean;
  /** Whether it changes nothing, so that it may be made again. */
  readonly isRead?: boolean;
}

/** A token that can be one. Others would only take space in a batch, and metadata cannot carry them. */
export function checkedToken(token: string): string {
  if (!/^[!-~]{1,4096}$/.test(token)) throw new Refused("TOKEN_INVALID");
  return token;
}

/** The metadata of a call, on behalf of `actor` if there is one. */
export function metadataOf(context: Context, actor?: string): Metadata {
  const metadata = new Metadata();
  const { clientAddress, requestId } = context;
  if (clientAddress !== undefined) {
    if (!isIP(clientAddress)) throw new TypeError("clientAddress is no IP address");
    metadata.set("x-client-address", clientAddress);
  }
  if (requestId !== undefined) {
    if (!/^[\w.:+/=@-]{1,64}$/.test(requestId)) throw new TypeError("requestId is no request id");
    metadata.set("x-request-id", requestId);
  }
  if (actor !== undefined) metadata.set("authorization", `Bearer ${checkedToken(actor)}`);
  return metadata;
}

/** The metadata of a call that these requests share. */
export function sharedMetadata(contexts: readonly Context[]): Metadata {
  const metadata = new Metadata();
  let ids = contexts.flatMap(({ requestId }) => requestId ?? []).join(",");
  if (ids.length > MAX_ID_LIST) ids = ids.slice(0, ids.lastIndexOf(",", MAX_ID_LIST));
  if (ids) metadata.set("x-request-id", ids);
  return metadata;
}

/** Makes a call until `deadline`, a time of `performance.now()`, and again if it changes nothing and reached no replica. */
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
        // The clock of the machine may be set meanwhile; gRPC takes nothing else.
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
