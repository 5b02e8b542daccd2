// Calls the API many times. When the service asks to wait, all calls wait.

import { call } from "./api.js";
import { say } from "./texts.js";

/** The longest pause in seconds, unless the service asks for longer. */
const LONGEST_PAUSE = 30;
/** The milliseconds after which waiting calls look again whether they may go on. */
const LOOK_AGAIN = 200;
/** The number of calls in a row without any answer that stops the others. */
const MAX_UNANSWERED = 8;

/** A call that was not sent, because somebody has stopped the calls. */
export class Stopped extends Error {}

/** `waits(seconds)` runs while the calls wait, and with 0 when they go on. */
export function patientCalls(waits) {
  let goesOn = 0;
  let pauses = 0;
  let unanswered = 0;
  const calls = { send, stop, isStopped: false, why: undefined };

  /** `why` is shown if nobody clicked a button to stop. */
  function stop(why) {
    if (calls.isStopped) return;
    Object.assign(calls, { isStopped: true, why });
  }

  function hold(seconds) {
    const now = Date.now();
    // The calls that were under way when the pause began do not make it longer.
    const least = now < goesOn ? 1 : Math.min(2 ** pauses, LONGEST_PAUSE);
    if (now >= goesOn) pauses += 1;
    goesOn = Math.max(goesOn, now + 1000 * Math.max(least, Number(seconds) || 1));
  }

  async function ready() {
    while (Date.now() < goesOn && !calls.isStopped) {
      waits(Math.ceil((goesOn - Date.now()) / 1000));
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
      if (Date.now() >= goesOn) waits(0);
    }
  }

  /**
   * Like `call`, but is repeated after a pause if the service asks for one. `isOnce`: not if the change may have been
   * made, because a repetition could not tell.
   */
  async function send(method, path, { body, isOnce } = {}) {
    let doubt;
    for (;;) {
      await ready();
      if (calls.isStopped) throw doubt ?? new Stopped();
      try {
        const answer = await call(method, path, { body });
        pauses = unanswered = 0;
        return answer;
      } catch (error) {
        const { status, isUncertain, retryAfter } = error;
        unanswered = status ? 0 : unanswered + 1;
        if (unanswered >= MAX_UNANSWERED) stop(say("api.no_answer"));
        // The role was taken away, or the second factor that it needs.
        if (status === 403) stop(error.message);
        if (![429, 503].includes(status) || (isOnce && isUncertain)) throw error;
        if (isUncertain) doubt = error;
        hold(retryAfter);
      }
    }
  }

  return calls;
}
