// Calls the public API. The browser adds the session cookie.

import { session } from "./session.js";
import { say, sayReason } from "./texts.js";

/** Emits `request` for each call, for the Requests pane. */
export const log = new EventTarget();

const TIMEOUT = 30_000;

class ApiError extends Error {
  /** `status` is 0 if there was no response. The message is the API's. */
  constructor(status, detail, { reason, retryAfter } = {}) {
    super(detail);
    Object.assign(this, { status, reason, retryAfter });
  }

  /** Whether the change may have been made despite the error (docs/http-api.md, "Was it changed?"). */
  get isUncertain() {
    return !this.status || (this.status >= 500 && !/read-only|busy/.test(this.message));
  }
}

/** Puts an API error into words; `isChange`: of a request that changes something. Other errors are bugs, and thrown. */
export function explain(error, isChange) {
  if (!(error instanceof ApiError)) throw error;
  const { status, reason, retryAfter, isUncertain } = error;
  const message = sayReason(reason, error.message);
  if (reason === "SECOND_FACTOR_REQUIRED") return `${message} ${say("api.second_step")}`;
  if (isChange && status === 401) return say("api.session_ended");
  if (isChange && isUncertain) return `${message} ${say("api.uncertain")}`;
  return retryAfter ? `${message} ${say("api.retry", { seconds: retryAfter })}` : message;
}

/** Returns the JSON of a success. Throws an ApiError, or an AbortError if `signal` aborts. */
export async function call(method, path, options) {
  return (await exchange(method, path, options)).answer;
}

/** Like `call`, but also returns the server's time. */
async function exchange(method, path, { body, signal } = {}) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  const { turn } = session;
  const entry = { method, path, body, status: 0, started: performance.now() };
  log.dispatchEvent(new CustomEvent("request", { detail: entry }));
  try {
    return await send(entry, { method, headers, body: body && JSON.stringify(body) }, signal);
  } catch (error) {
    if (error.status === 401 && turn === session.turn) session.end();
    // The stored role seems to have changed since the page was shown.
    if (error.status === 403 && path !== "/me") refresh().catch(() => {});
    throw error;
  } finally {
    entry.done?.();
  }
}

async function send(entry, options, signal) {
  const timeout = AbortSignal.timeout(TIMEOUT);
  const both = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const fixed = { credentials: "same-origin", cache: "no-store", redirect: "error" };
  let response, text;
  try {
    response = await fetch(entry.path, { ...fixed, ...options, signal: both });
    text = await response.text();
  } catch (error) {
    entry.isAborted = signal?.aborted;
    throw entry.isAborted ? error : new ApiError(0, say("api.no_answer"));
  } finally {
    entry.milliseconds = performance.now() - entry.started;
  }
  entry.status = response.status;
  const answer = parse(text);
  if (response.ok && answer) return { answer, now: Date.parse(response.headers.get("Date")) };
  throw refusal(response, answer);
}

function refusal(response, answer) {
  // A proxy may answer without JSON.
  const detail = answer?.detail ?? say("api.unexplained", { status: response.status });
  const { headers } = response;
  return new ApiError(response.status, detail, { reason: headers.get("Rolegate-Reason"), retryAfter: headers.get("Retry-After") });
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns `path` with those parameters that are not empty. */
export function query(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Asks the API who is signed in, and updates the session. */
export async function refresh() {
  const { answer, now } = await exchange("GET", "/me");
  session.set(answer, now);
}

/** Ends the session, and tells the other tabs. */
export async function signOut() {
  let response;
  try {
    const signal = AbortSignal.timeout(TIMEOUT);
    response = await fetch("/sign-out", { method: "POST", body: new URLSearchParams(), redirect: "manual", signal });
  } catch {
    throw new ApiError(0, say("api.no_answer"));
  }
  if (response.type !== "opaqueredirect") throw refusal(response, parse(await response.text()));
  session.tellSignedOut();
}
