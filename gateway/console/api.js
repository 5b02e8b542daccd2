// Calls of the public API with the token of the signed-in user.

import { session } from "./session.js";

/** Emits `request` for the pane of requests. */
export const log = new EventTarget();

const TIMEOUT = 30_000;

class ApiError extends Error {
  /** `status` 0: no response. */
  constructor(status, detail, retryAfter) {
    super(detail);
    Object.assign(this, { status, retryAfter });
  }

  /** Whether a change may have been made all the same (docs/http-api.md, "Was it changed?"). */
  get isUncertain() {
    return !this.status || (this.status >= 500 && !/read-only|busy/.test(this.message));
  }
}

/** What a person reads who asked for something or, `isChange`, changed it. Other errors are faults of the page. */
export function explain(error, isChange) {
  if (!(error instanceof ApiError)) throw error;
  const { status, message, retryAfter, isUncertain } = error;
  if (isChange && status === 401) return "Not done: the session had ended.";
  if (isChange && isUncertain) return `${message} It is not known whether the change was made: look before you repeat it.`;
  return retryAfter ? `${message} Try again in ${retryAfter} s.` : message;
}

/** Returns the JSON of a success, or throws an ApiError; or the AbortError of `signal`. */
export async function call(method, path, options) {
  return (await exchange(method, path, options)).answer;
}

/** Also returns the server's time. */
async function exchange(method, path, { body, signal, token = session.user?.token } = {}) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const entry = { method, path, body, isAuthorized: Boolean(token), status: 0, started: performance.now() };
  log.dispatchEvent(new CustomEvent("request", { detail: entry }));
  try {
    return await send(entry, { method, headers, body: body && JSON.stringify(body) }, signal);
  } catch (error) {
    if (error.status === 401 && token && token === session.user?.token) {
      session.end(`Your session has ended (${error.message.replace(/\.$/, "")}).`);
    }
    // The stored role has changed since the page was shown.
    if (error.status === 403 && token && path !== "/profile") refreshRole().catch(() => {});
    throw error;
  } finally {
    entry.done?.();
  }
}

async function send(entry, options, signal) {
  const timeout = AbortSignal.timeout(TIMEOUT);
  const both = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const fixed = { credentials: "omit", cache: "no-store", redirect: "error" };
  let response, text;
  try {
    response = await fetch(entry.path, { ...fixed, ...options, signal: both });
    text = await response.text();
  } catch (error) {
    entry.isAborted = signal?.aborted;
    throw entry.isAborted ? error : new ApiError(0, "The server does not answer.");
  } finally {
    entry.milliseconds = performance.now() - entry.started;
  }
  entry.status = response.status;
  const answer = parse(text);
  if (response.ok && answer) return { answer, now: Date.parse(response.headers.get("Date")) };
  // A proxy may answer without JSON.
  const detail = answer?.detail ?? `The server answered ${response.status} without an explanation.`;
  throw new ApiError(response.status, detail, response.headers.get("Retry-After"));
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `path` with the parameters that are not empty. */
export function query(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

export async function signIn(username, password) {
  const { answer: { token } } = await exchange("POST", "/sessions", { body: { username, password, name: "Console" } });
  const { answer: bearer, now } = await exchange("GET", "/me", { token });
  session.start(token, bearer, now);
}

export async function refreshRole() {
  const { token } = session.user ?? {};
  const { role } = await call("GET", "/profile");
  if (token === session.user?.token) session.setRole(role);
}
