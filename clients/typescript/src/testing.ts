/** Starts `rolegate-test-server` for a test: the real services, with a database in memory. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import { AuthClient } from "./client.js";
import { RolegateError } from "./errors.js";
import type { GroupPage } from "./group.js";
import type { UserPage } from "./user.js";

const INSTALL =
  "install it from a checkout of Rolegate with `cargo install --locked --path test-server`, " +
  "or set ROLEGATE_TEST_SERVER to its path";

/** The line that the program prints. */
interface Notice {
  readonly listeners: Readonly<Record<"bearer" | "basic" | "forward" | "grpc" | "control", string>>;
}

/**
 * A server with users of its own. It runs until `stop()`, and at the latest until the end of this process. The
 * password of the user `admin` is `admin-password`.
 */
export class RolegateServer {
  readonly #process: ChildProcess;
  /** The URL of the API with bearer tokens. */
  readonly bearer: string;
  /** The URL of the API with HTTP Basic. */
  readonly basic: string;
  /** The URL for proxies. */
  readonly forwardAuth: string;
  /** The URL of auth-service for clients, as in `AUTH_SERVICE_URL`. */
  readonly grpc: string;
  /** The URL for commands, which move the clock and cause failures. */
  readonly control: string;

  private constructor(process: ChildProcess, { listeners }: Notice) {
    this.#process = process;
    this.bearer = listeners.bearer;
    this.basic = listeners.basic;
    this.forwardAuth = listeners.forward;
    this.grpc = listeners.grpc;
    this.control = listeners.control;
  }

  /** Starts a server with these flags: `RolegateServer.start("--user", "ada:a password:author")`. */
  static async start(...flags: string[]): Promise<RolegateServer> {
    const program = process.env["ROLEGATE_TEST_SERVER"] ?? "rolegate-test-server";
    const child = spawn(program, flags, { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, "exit").then(([status]) => {
      throw new Error(`${program} ended with ${status}; on stderr it says why`);
    });
    ended.catch(() => {});
    const line = await Promise.race([once(lines, "line"), ended]).catch((error: NodeJS.ErrnoException) => {
      throw error.syscall === undefined ? error : new Error(`cannot ${error.message}; ${INSTALL}`);
    });
    // Without these two calls, the process of a test that forgets `stop()` would not end.
    child.unref();
    (child.stdout as Socket).unref();
    try {
      return new RolegateServer(child, JSON.parse(line[0] as string) as Notice);
    } catch (error) {
      child.kill();
      throw error;
    }
  }

  /** Logs in, and returns the access token. */
  async login(username: string, password: string, otp?: string): Promise<string> {
    const answer = await post(`${this.bearer}/login`, { username, password, otp });
    return answer["access_token"] as string;
  }

  /** Adds a user to a group, and creates the group if it does not exist. The membership ends at `until`. */
  async addToGroup(username: string, group: string, until?: Date): Promise<void> {
    const client = new AuthClient(this.grpc);
    try {
      const { accessToken } = await client.login("admin", "admin-password");
      const userId = await findUser(client, accessToken, username);
      const groupId = await createOrFindGroup(client, accessToken, group);
      await client.setMembership(accessToken, groupId, userId, until);
    } finally {
      client.close();
    }
  }

  /** Moves the clock by which access tokens (after 30 minutes) and sessions expire. */
  async advance(seconds: number): Promise<void> {
    await this.#command({ command: "clock", advance_seconds: seconds });
  }

  /** Makes auth-service answer no call until `reset()`. Until then, protected endpoints answer 503. */
  async outage(): Promise<void> {
    await this.#command({ command: "outage" });
  }

  /** Delays each call of auth-service by this time until `reset()`. */
  async slow(milliseconds: number): Promise<void> {
    await this.#command({ command: "slow", milliseconds });
  }

  /** Revokes every access token and session of a user whom a flag of `start()` has created. */
  async revoke(username: string): Promise<void> {
    await this.#command({ command: "revoked", username });
  }

  /** Ends `outage()` and `slow()`. */
  async reset(): Promise<void> {
    await this.#command({ command: "reset" });
  }

  stop(): void {
    this.#process.kill();
  }

  async #command(command: Record<string, unknown>): Promise<void> {
    await post(this.control, command);
  }
}

async function findUser(client: AuthClient, admin: string, username: string): Promise<number> {
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page: UserPage = await client.listUsers(admin, { limit: 200, after, usernamePrefix: username });
    const user = page.users.find((listed) => listed.username === username);
    if (user) return user.id;
    after = page.next;
  }
  throw new Error(`no user is named ${username}`);
}

async function createOrFindGroup(client: AuthClient, admin: string, name: string): Promise<number> {
  try {
    return (await client.createGroup(admin, name)).id;
  } catch (error) {
    if (!(error instanceof RolegateError) || error.reason !== "GROUP_TAKEN") throw error;
  }
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page: GroupPage = await client.listGroups(admin, { limit: 200, after });
    const group = page.groups.find((listed) => listed.name === name);
    if (group) return group.id;
    after = page.next;
  }
  throw new Error(`no group is named ${name}`);
}

async function post(url: string, body: Record<string, unknown>): Promise<Record<string, unknown>> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${url}: ${answer["detail"]}`);
  return answer;
}
