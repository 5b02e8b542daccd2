/** Tests of the batcher with a value that changes while calls are in flight, and answers that wait for the test. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { Batcher, MAX_IN_FLIGHT, STALL_TIMEOUT } from "../src/batcher.js";
import { DeadlineExceeded, Refused, Unavailable } from "../src/index.js";

/** A store that reads its value when a call arrives, and answers only after the test allows it. */
class Store {
  value = 0;
  readonly calls: string[][] = [];
  readonly #answers: (() => void)[] = [];
  readonly #batcher: Batcher<string, number>;

  constructor(maxSize = 256, timeout = 60_000) {
    this.#batcher = new Batcher<string, number>(
      async (names) => {
        const { value } = this;
        this.calls.push(names);
        await new Promise<void>((resolve) => this.#answers.push(resolve));
        if (names.includes("all fail")) throw new Unavailable();
        const answered = names.filter((name) => name !== "lost");
        return answered.map((name) => (name === "refused" ? new Refused("TOKEN_INVALID") : value));
      },
      maxSize,
      timeout,
    );
  }

  read(name: string): Promise<number> {
    return this.#batcher.submit(name);
  }

  /** Answers this many calls, the oldest first. */
  async answer(calls: number): Promise<void> {
    for (let left = calls; left > 0; left -= 1) {
      this.#answers.shift()?.();
      await turn();
      await turn();
    }
  }
}

test("lone request is sent at once", async () => {
  const store = new Store();
  const read = store.read("a");
  assert.deepEqual(store.calls, [["a"]]);
  await store.answer(1);
  assert.equal(await read, 0);
});

test("requests made while a call is in flight share the next one", async () => {
  const store = new Store(3);
  const reads = ["a", "b", "c", "d", "e"].map((name) => store.read(name));
  assert.deepEqual(store.calls, [["a"]]);
  await store.answer(3);
  assert.deepEqual(await Promise.all(reads), [0, 0, 0, 0, 0]);
  assert.deepEqual(store.calls, [["a"], ["b", "c", "d"], ["e"]]);
});

test("no answer is older than its request", async () => {
  const store = new Store();
  const early = store.read("a");
  store.value = 1;
  const late = store.read("a");
  await store.answer(2);
  assert.deepEqual([await early, await late], [0, 1]);
});

test("stalled call delays no other and their number is bounded", async () => {
  const store = new Store();
  const reads = [];
  for (let number = 0; number < MAX_IN_FLIGHT + 4; number += 1) {
    reads.push(store.read(String(number)));
    await sleep(STALL_TIMEOUT * 1.5);
  }
  assert.equal(store.calls.length, MAX_IN_FLIGHT);
  await store.answer(MAX_IN_FLIGHT + 1);
  assert.equal((await Promise.all(reads)).length, MAX_IN_FLIGHT + 4);
  assert.equal(store.calls.length, MAX_IN_FLIGHT + 1);
});

test("each request gets its own failure", async () => {
  const store = new Store();
  const names = ["a", "refused", "b", "lost"];
  const reads = Promise.allSettled(names.map((name) => store.read(name)));
  await store.answer(2);
  const [first, refused, good, lost] = await reads;
  assert(first?.status === "fulfilled" && good?.status === "fulfilled");
  assert(refused?.status === "rejected" && refused.reason instanceof Refused);
  assert(lost?.status === "rejected" && lost.reason instanceof Unavailable);
  const failing = assert.rejects(store.read("all fail"), Unavailable);
  await store.answer(1);
  await failing;
});

test("request ends at its own deadline and holds up no other", async () => {
  const store = new Store(256, 50);
  await assert.rejects(store.read("a"), DeadlineExceeded);
  await store.answer(1);
  const next = store.read("b");
  await store.answer(1);
  assert.equal(await next, 0);
});
