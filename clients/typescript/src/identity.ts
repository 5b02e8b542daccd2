/** The user in the headers of a proxy that asked Rolegate, believed only from the addresses of proxies. */

import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4, Socket } from "node:net";
import { Malformed, NotAuthenticated, Refused, RolegateError } from "./errors.js";
import { idFrom, type Role, roleFrom, type User } from "./user.js";

/** The request did not come from a proxy of the list, or what says so cannot be believed. */
export class IdentityRefused extends RolegateError {
  /** `problem` is for logs. */
  constructor(problem: string) {
    super(problem, 403, "IDENTITY_REFUSED", "The request did not come through the proxy.");
  }
}

/** What Rolegate leaves as it is in a name, and the bytes that it encodes. */
const ENCODED = /^(?:[ -$&-*\--~]|%[0-9A-Fa-f]{2})+$/;
const USER_ID = /^[1-9][0-9]{0,18}$/;
/** Until when each problem is not logged again, by `performance.now()`; there are few. */
const logged = new Map<string, number>();

/**
 * Reads the user of a request from the headers of the proxies at `peers`.
 *
 * `peers` are addresses or networks, such as `["127.0.0.1", "10.1.0.0/16"]`, from which the proxies connect. Whoever can
 * connect from there can be any user. With roles, the user must have one of them. Only the address of the socket
 * counts, whatever `trust proxy` of Express or `trustProxy` of Fastify makes of it.
 */
export class ProxyIdentity {
  readonly #peers = new BlockList();
  readonly #roles: readonly Role[];

  constructor(peers: readonly string[], ...roles: Role[]) {
    if (!Array.isArray(peers) || peers.length === 0) {
      throw new TypeError("peers must be a list of the addresses of the proxies");
    }
    for (const peer of peers) addPeer(this.#peers, peer);
    this.#roles = roles;
  }

  /** The user of a request, or an error that `errorResponse` makes a response of. */
  userOf(request: Pick<IncomingMessage, "rawHeaders" | "socket">): User {
    const peer = peerOf(request.socket);
    if (peer === undefined) {
      throw refused("the address of the connection is unknown, as that of a Unix socket; let the proxy use TCP");
    }
    if (!this.#peers.check(peer, isIPv4(peer) ? "ipv4" : "ipv6")) {
      throw refused("the address of the connection is not in the list of proxies", peer);
    }
    const user = userFromHeaders(request.rawHeaders);
    if (this.#roles.length > 0 && !this.#roles.includes(user.role)) throw new Refused("ROLE_INSUFFICIENT");
    return user;
  }
}

function addPeer(peers: BlockList, text: string): void {
  const [, address = "", prefix] = /^([^/]*)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text) ?? [];
  const version = isIP(address);
  const longest = version === 4 ? 32 : 128;
  const length = prefix === undefined ? longest : Number(prefix);
  if (version === 0 || address.includes("%") || length > longest) {
    throw new TypeError(`${text} is no address and no network of proxies`);
  }
  if (length === 0) throw new TypeError(`${text} is everybody`);
  if (unmapped(address) !== address) {
    throw new TypeError(`${text} never matches, because IPv4 addresses count as such`);
  }
  peers.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6");
}

/** The address of a real socket: adapters that imitate one take it from wherever they like. */
function peerOf(socket: unknown): string | undefined {
  const address = socket instanceof Socket ? socket.remoteAddress : undefined;
  const [bare = ""] = (address ?? "").split("%");
  return isIP(bare) === 0 ? undefined : unmapped(bare);
}

/** An IPv4-mapped address, as of sockets for both versions, is the IPv4 address. */
function unmapped(address: string): string {
  if (isIPv4(address)) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const [, high, low] = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return address;
  const words = [parseInt(high, 16), parseInt(low, 16)];
  return words.flatMap((word) => [word >> 8, word & 255]).join(".");
}

function userFromHeaders(rawHeaders: readonly string[]): User {
  const all = ["rolegate-user-id", "rolegate-username", "rolegate-role"].map((name) =>
    rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name),
  );
  if (all.every((values) => values.length === 0)) throw new NotAuthenticated();
  const [id, name, role] = all.flat();
  if (all.some((values) => values.length !== 1) || id === undefined || name === undefined || role === undefined) {
    throw refused("a header of the identity is missing, or there are several of it");
  }
  if (!USER_ID.test(id)) throw refused("Rolegate-User-Id is no id");
  try {
    return { id: idFrom(BigInt(id)), username: decoded(name), role: roleFrom(role), disabled: false };
  } catch (error) {
    if (error instanceof Malformed) throw refused("Rolegate-User-Id or Rolegate-Role is malformed");
    throw error;
  }
}

/** A name as the user has typed it. Several values are joined by `,`, which Rolegate encodes. */
function decoded(name: string): string {
  if (!ENCODED.test(name)) throw refused("Rolegate-Username is empty, or not as Rolegate encodes it");
  try {
    return decodeURIComponent(name);
  } catch {
    throw refused("Rolegate-Username is not UTF-8");
  }
}

/** Logs why, once a minute for each problem, for the operator; the response does not say it. */
function refused(problem: string, peer?: string): IdentityRefused {
  const now = performance.now();
  if (now >= (logged.get(problem) ?? now)) {
    logged.set(problem, now + 60_000);
    const origin = peer === undefined ? "" : `; it came from ${peer}`;
    console.warn(`rolegate: refused a request with the identity of a proxy: ${problem}${origin}`);
  }
  return new IdentityRefused(problem);
}
