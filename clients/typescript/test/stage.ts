/** The stage: the real services that `client-stage` runs for these tests. */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";

/** Returns the value of a variable that tests/long/clients sets. */
export function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is unset; run tests/long/clients`);
  return value;
}

export interface Step {
  readonly given?: string[];
  readonly expect: string;
  readonly times?: number;
  readonly eventually?: boolean;
}

export interface Case {
  readonly name: string;
  readonly token: string;
  readonly authorization?: string | null;
  readonly roles: string[];
  readonly groups?: string[];
  readonly steps: Step[];
}

export interface Outcome {
  readonly status: number;
  readonly [header: string]: unknown;
}

export interface Table {
  readonly outcomes: Record<string, Outcome>;
  readonly cases: Case[];
}

export const TABLE = JSON.parse(readFileSync(variable("CONFORMANCE"), "utf8")) as Table;

/** Users with tokens, and the states and faults of `clients/conformance.json`. */
export class Stage {
  readonly #socket = connect(Number(variable("CLIENT_STAGE").split(":").at(-1)), "127.0.0.1");
  readonly #lines = createInterface({ input: this.#socket });

  /** Creates a user, and returns a token of this kind. */
  async token(kind = "fresh"): Promise<string> {
    return ((await this.#ask({ token: kind })) as { token: string }).token;
  }

  /** Puts the user who was created last into a state, or causes a fault. */
  async given(state: string): Promise<void> {
    await this.#ask({ given: state });
  }

  close(): void {
    this.#socket.destroy();
  }

  async #ask(request: object): Promise<unknown> {
    const answer = once(this.#lines, "line");
    this.#socket.write(`${JSON.stringify(request)}\n`);
    return JSON.parse((await answer)[0] as string);
  }
}
