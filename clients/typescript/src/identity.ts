/**
 * Reads the user from the headers of a proxy that has asked Rolegate. The headers count only if the connection
 * comes from an address of the proxies.
 */

import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4, Socket } from "node:net";
import { Malformed, NotAuthenticated, Refused, RolegateError } from "./errors.js";
import { type Requirement, requirementFrom } from "./requirement.js";
import { idFrom, NAME, type Role, roleFrom, type User } from "./user.js";

/** The request did not come from a listed proxy, or its headers cannot be trusted. */
export class IdentityRefused extends RolegateError {
  /** `problem` is a text for logs. */
  constructor(problem: string) {
    super(problem, 403, "IDENTITY_REFUSED", "The request did not come through the proxy.");
  }
}

/** A username as Rolegate encodes it: unencoded characters and percent-encoded bytes. */
const ENCODED = /^(?:[ -$&-*\--~]|%[0-9A-Fa-f]{2})+$/;
const USER_ID = /^[1-9][0-9]{0,18}$/;
/**
 * The time of `performance.now()` until which each problem is not logged again. The map stays small, because
 * there are few problems.
 */
const logged = new Map<string, number>();

/**
 * Reads the user of a request from the headers of the proxies at `peers`.
 *
 * `peers` are the addresses or networks from which the proxies connect, such as `["127.0.0.1", "10.1.0.0/16"]`. Any
 * program that can connect from there can claim to be any user. With roles or a requirement, the user must meet it:
 * `new ProxyIdentity(peers, "admin")`, `new ProxyIdentity(peers, { groups: ["staff"] })`. Only the address of the socket
 * counts, so `trust proxy` of Express and `trustProxy` of Fastify have no effect here.
 */
export class ProxyIdentity {
  readonly #peers = new BlockList();
  readonly #requirement: Requirement | undefined;

  constructor(peers: readonly string[], ...required: Role[] | [Requirement]) {
    if (!Array.isArray(peers) || peers.length === 0) {
      throw new TypeError("peers must be a list of the addresses of the proxies");
    }
    for (const peer of peers) addPeer(this.#peers, peer);
    this.#requirement = required.length === 0 ? undefined : checkedRequirement(required);
  }

  /** Returns the user of a request, or throws an error that `errorResponse` turns into a response. */
  userOf(request: Pick<IncomingMessage, "rawHeaders" | "socket">): User {
    const peer = peerOf(request.socket);
    if (peer === undefined) {
      throw refused("the address of the connection is unknown, as with a Unix socket; let the proxy use TCP");
    }
    if (!this.#peers.check(peer, isIPv4(peer) ? "ipv4" : "ipv6")) {
      throw refused("the address of the connection is not in the list of proxies", peer);
    }
    const user = userFromHeaders(request.rawHeaders);
    if (this.#requirement && !meets(user, this.#requirement)) throw new Refused("ROLE_INSUFFICIENT");
    return user;
  }
}

function checkedRequirement(required: Role[] | [Requirement]): Requirement {
  const [first] = required;
  const requirement = requirementFrom(typeof first === "object" ? first : (required as Role[]));
  const names = [...(requirement.roles ?? []), ...(requirement.groups ?? [])];
  // An empty requirement must not let any user pass.
  if (names.length === 0 || !names.every((name) => typeof name === "string")) {
    throw new TypeError("the requirement must name roles or groups");
  }
  return requirement;
}

function meets(user: User, { roles = [], groups = [] }: Requirement): boolean {
  return roles.includes(user.role) || groups.some((group) => user.groups.includes(group));
}

function addPeer(peers: BlockList, text: string): void {
  const [, address = "", prefix] = /^([^/]*)(?:\/(0|[1-9][0-9]{0,2}))?$/.exec(text) ?? [];
  const version = isIP(address);
  const longest = version === 4 ? 32 : 128;
  const length = prefix === undefined ? longest : Number(prefix);
  if (version === 0 || address.includes("%") || length > longest) {
    throw new TypeError(`${text} is neither an address nor a network`);
  }
  if (length === 0) throw new TypeError(`${text} contains every address`);
  if (unmapped(address) !== address) {
    throw new TypeError(`${text} never matches, because IPv4 peers are compared as IPv4`);
  }
  peers.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6");
}

/**
 * Returns the peer's address if this is a real socket. Adapters that imitate a socket may take its address from
 * a header.
 */
function peerOf(socket: unknown): string | undefined {
  const address = socket instanceof Socket ? socket.remoteAddress : undefined;
  const [bare = ""] = (address ?? "").split("%");
  return isIP(bare) === 0 ? undefined : unmapped(bare);
}

/** Returns the IPv4 address of an IPv4-mapped one, which dual-stack sockets report, and any other address unchanged. */
function unmapped(address: string): string {
  if (isIPv4(address)) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const [, high, low] = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return address;
  const words = [parseInt(high, 16), parseInt(low, 16)];
  return words.flatMap((word) => [word >> 8, word & 255]).join(".");
}

function userFromHeaders(rawHeaders: readonly string[]): User {
  const valuesOf = (wanted: string) =>
    rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted);
  const all = ["rolegate-user-id", "rolegate-username", "rolegate-role"].map(valuesOf);
  if (all.every((values) => values.length === 0)) throw new NotAuthenticated();
  const [id, name, role] = all.flat();
  // Without the header, the user has no groups, because the proxy files of the previous release send none.
  const [groups = "", ...moreGroups] = valuesOf("rolegate-groups");
  const isWhole = all.every((values) => values.length === 1) && moreGroups.length === 0;
  if (!isWhole || id === undefined || name === undefined || role === undefined) {
    throw refused("an identity header is missing or repeated");
  }
  if (!USER_ID.test(id)) throw refused("Rolegate-User-Id is not an id");
  const user = { username: decoded(name), disabled: false, groups: groupNames(groups), until: undefined };
  try {
    return { id: idFrom(BigInt(id)), role: roleFrom(role), ...user };
  } catch (error) {
    if (error instanceof Malformed) throw refused("Rolegate-User-Id or Rolegate-Role is malformed");
    throw error;
  }
}

/**
 * Returns the names in `Rolegate-Groups`, in ascending order. A name that is there twice shows that several values
 * were joined, because Rolegate sends each name once.
 */
function groupNames(value: string): string[] {
  const names = value === "" ? [] : value.split(",");
  if (!names.every((name) => NAME.test(name)) || new Set(names).size < names.length) {
    throw refused("Rolegate-Groups is not a list of groups");
  }
  return names.sort();
}

/** Decodes a username. A `,` shows that several values were joined, because Rolegate would encode it. */
function decoded(name: string): string {
  if (!ENCODED.test(name)) throw refused("Rolegate-Username is empty, or not as Rolegate encodes it");
  try {
    return decodeURIComponent(name);
  } catch {
    throw refused("Rolegate-Username is not UTF-8");
  }
}

/**
 * Returns the refusal, and logs the problem for the operator, at most once a minute. The response does not
 * contain the problem.
 */
function refused(problem: string, peer?: string): IdentityRefused {
  const now = performance.now();
  if (now >= (logged.get(problem) ?? now)) {
    logged.set(problem, now + 60_000);
    const origin = peer === undefined ? "" : `; it came from ${peer}`;
    console.warn(`rolegate: refused the identity headers of a request: ${problem}${origin}`);
  }
  return new IdentityRefused(problem);
}
