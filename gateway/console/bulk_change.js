// Makes one change for each of many items, some at a time. It can be stopped.

import { explain } from "./api.js";
import { Stopped, patientCalls } from "./patient_calls.js";
import { session } from "./session.js";

const WORKERS = 4;
/** The milliseconds after each change. They leave about a hundred changes a second, so that requests of others stay fast. */
const PAUSE = 40;

/**
 * `change(item, send)` makes one change with `send`, which is like `call`, and may return what its result should have,
 * such as `{text}`. `progressed(result)` runs after each change, and `waits` is that of the calls.
 *
 * `finished` is a promise of a map from the items, in their order, to their results. The `state` of a result is "done", "failed",
 * "unknown" (it is not known whether the change was made) or "left" (it was not begun).
 */
export function bulkChange(items, change, { progressed, waits }) {
  const results = new Map();
  const calls = patientCalls(waits);
  let next = 0;

  async function work() {
    while (next < items.length && !calls.isStopped) {
      const item = items[next];
      next += 1;
      const result = await attempt(item);
      results.set(item, result);
      progressed(result);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  async function attempt(item) {
    try {
      return { state: "done", ...(await change(item, calls.send)) };
    } catch (error) {
      if (error instanceof Stopped) return { state: "left" };
      return { state: error.isUncertain ? "unknown" : "failed", text: explain(error, true) };
    }
  }

  async function finish() {
    const end = () => calls.stop("The session has ended.");
    for (const event of ["end", "other"]) session.addEventListener(event, end);
    try {
      await Promise.all(Array.from({ length: WORKERS }, work));
    } finally {
      for (const event of ["end", "other"]) session.removeEventListener(event, end);
    }
    return new Map(items.map((item) => [item, results.get(item) ?? { state: "left" }]));
  }

  return {
    finished: finish(),
    stop: () => calls.stop(),
    /** Why the changes were stopped, unless by `stop`. */
    get why() {
      return calls.why;
    },
  };
}
