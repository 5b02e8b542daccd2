/**
 * Lets concurrent requests share calls, without added latency and without stale answers.
 *
 * A request joins only a call that has not been sent, because a call in flight could return data from before
 * the request. A lone request is sent at once. Requests that arrive while a call is in flight share the next
 * one. The crate `rolegate-batcher` works in the same way.
 */

import { DeadlineExceeded, RolegateError, Unavailable } from "./errors.js";

/**
 * The time in milliseconds after which a call in flight no longer delays the next one, because its replica may
 * hang.
 */
export const STALL_TIMEOUT = 20;
export const MAX_IN_FLIGHT = 16;

interface Member<Request, Answer> {
  readonly request: Request;
  readonly deadline: number;
  readonly settle: (answer: Answer | RolegateError) => void;
  isSettled: boolean;
}

/** Batches requests. Each request has its own deadline of `timeout` milliseconds. */
export class Batcher<Request, Answer> {
  #waiting: Member<Request, Answer>[] = [];
  /** The number of calls in flight, and the number of these calls that are younger than the stall timeout. */
  #inFlight = 0;
  #progressing = 0;

  /**
   * `send` gets the requests of one call, and its deadline as a time of `performance.now()`. It returns the answers in
   * the order of the requests.
   */
  constructor(
    private readonly send: (
      requests: Request[],
      deadline: number,
    ) => Promise<(Answer | RolegateError)[]>,
    private readonly maxSize: number,
    private readonly timeout: number,
  ) {}

  /**
   * Sends a request with the next call, and returns its answer. Rejects with `DeadlineExceeded` if the answer
   * is late.
   */
  submit(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => member.settle(new DeadlineExceeded()), this.timeout);
      const member: Member<Request, Answer> = {
        request,
        deadline: performance.now() + this.timeout,
        isSettled: false,
        settle: (answer) => {
          clearTimeout(timer);
          member.isSettled = true;
          if (answer instanceof RolegateError) reject(answer);
          else resolve(answer);
        },
      };
      this.#waiting.push(member);
      this.#sendNext();
    });
  }

  /** Sends the next batch if no call is in flight, or if all calls in flight are stalled. */
  #sendNext(): void {
    if (this.#progressing > 0 || this.#inFlight >= MAX_IN_FLIGHT) return;
    const waiting = this.#waiting.filter((member) => !member.isSettled);
    const batch = waiting.splice(0, this.maxSize);
    this.#waiting = waiting;
    if (batch.length > 0) void this.#deliver(batch);
  }

  async #deliver(batch: Member<Request, Answer>[]): Promise<void> {
    this.#inFlight += 1;
    this.#progressing += 1;
    let isProgressing = true;
    const stopCounting = () => {
      if (isProgressing) this.#progressing -= 1;
      isProgressing = false;
    };
    const timer = setTimeout(() => {
      stopCounting();
      this.#sendNext();
    }, STALL_TIMEOUT);
    let answers: (Answer | RolegateError)[];
    try {
      const deadline = Math.max(...batch.map((member) => member.deadline));
      answers = await this.send(batch.map((member) => member.request), deadline);
    } catch (error) {
      answers = batch.map(() => (error instanceof RolegateError ? error : new Unavailable()));
    }
    clearTimeout(timer);
    stopCounting();
    this.#inFlight -= 1;
    batch.forEach((member, index) => member.settle(answers[index] ?? new Unavailable()));
    // The next batch is sent only after the callers that were just answered have run, because they often submit
    // again at once and can then join it.
    setImmediate(() => this.#sendNext());
  }
}
