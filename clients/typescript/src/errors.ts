/**
 * The errors for failed calls, with the HTTP responses for them.
 *
 * Only `Refused` is an answer of the service. Every other error says nothing about the user, so never read it as "no".
 */

/**
 * The reasons of the contract, with the gateway's status and detail. If the detail is empty, the message of the
 * error is used instead.
 */
export const REASONS = {
  USERNAME_TAKEN: [400, "Username already exists."],
  USERNAME_INVALID: [400, ""],
  PASSWORD_INVALID: [400, ""],
  ROLE_INVALID: [400, "Invalid role."],
  USER_NOT_DELETABLE: [400, "This user cannot be deleted."],
  USER_NOT_RENAMABLE: [400, "This user cannot be renamed."],
  LAST_ADMIN: [400, "The last admin cannot be removed."],
  OWN_PASSWORD: [400, "Use /profile/password to change your own password."],
  CURRENT_PASSWORD_WRONG: [400, "Current password is incorrect."],
  LINK_INVALID: [400, "Invalid or expired link."],
  OTP_WRONG: [400, "One-time code is incorrect."],
  SECOND_FACTOR_UNAVAILABLE: [400, "Second factors are not available."],
  SECOND_FACTOR_STATE: [400, ""],
  OWN_SECOND_FACTOR: [400, "Use /profile/second-factor to turn off your own second factor."],
  API_KEY_INVALID: [400, ""],
  API_KEY_LIMIT: [400, "A user can have at most 50 API keys."],
  API_KEY_NOT_FOUND: [404, "API key not found."],
  SESSION_INVALID: [400, ""],
  SESSION_NOT_FOUND: [404, "Session not found."],
  GROUP_NOT_FOUND: [404, "Group not found."],
  MEMBERSHIP_NOT_FOUND: [404, "Membership not found."],
  GROUP_TAKEN: [400, "Group already exists."],
  GROUP_INVALID: [400, ""],
  GROUP_LIMIT: [400, "A user can be in at most 100 groups."],
  GROUP_IN_USE: [400, ""],
  END_INVALID: [400, ""],
  CREDENTIALS_INVALID: [401, "Invalid username or password."],
  OTP_REQUIRED: [401, "One-time code required."],
  OTP_INVALID: [401, "Invalid one-time code."],
  TOKEN_INVALID: [401, "Invalid or expired token."],
  TOKEN_USER_NOT_FOUND: [401, "User not found."],
  ROLE_INSUFFICIENT: [403, "Insufficient privileges."],
  PASSWORD_LINK_REQUIRED: [403, "Users choose their passwords by a link."],
  SECOND_FACTOR_REQUIRED: [403, "Second factor required."],
  REGISTRATION_CLOSED: [403, "Registration is closed."],
  USER_NOT_FOUND: [404, "User not found."],
  TOO_MANY_ATTEMPTS: [429, "Too many attempts, try again later."],
  OVERLOADED: [503, "Service is busy, try again."],
  CLOCK_BEHIND: [503, "The clock is behind the time of the user's last revocation."],
  STORE_UNAVAILABLE: [503, "Service temporarily unavailable."],
  STORE_READ_ONLY: [503, "Service is temporarily read-only."],
  OUTCOME_UNKNOWN: [504, "Upstream timed out."],
  // An invalid request is a bug in the calling program.
  REQUEST_INVALID: [500, "Internal server error."],
  SNAPSHOT_REQUIRED: [500, "Internal server error."],
  HISTORY_UNKNOWN: [500, "Internal server error."],
  INTERNAL: [500, "Internal server error."],
} as const satisfies Record<string, readonly [number, string]>;

/** The reason of a refusal, which programs compare. */
export type Reason = keyof typeof REASONS;

/** A failed call. `status`, `reason` and `detail` are the same as in the gateway's response. */
export class RolegateError extends Error {
  /** The number of seconds after which a new attempt makes sense; `undefined` if the service named none. */
  retryAfter: number | undefined;

  constructor(
    message: string,
    readonly status: number = 500,
    readonly reason: string = "INTERNAL",
    readonly detail: string = "Internal server error.",
  ) {
    super(message);
    this.name = new.target.name;
  }
}

/** The service could not be reached, or a proxy has answered in its place. */
export class Unavailable extends RolegateError {
  /** `cause` is gRPC's text for logs, such as why a handshake has failed. */
  constructor(cause?: string) {
    const message = "the service cannot be reached";
    const detail = "Service temporarily unavailable.";
    super(cause ? `${message}: ${cause}` : message, 503, "UPSTREAM_UNAVAILABLE", detail);
  }
}

/** The deadline of the call has passed. If the call was a change, the service may have made the change. */
export class DeadlineExceeded extends RolegateError {
  constructor() {
    const message = "the service did not answer in time";
    super(message, 504, "UPSTREAM_TIMED_OUT", "Upstream timed out.");
  }
}

/** This version of the client does not understand the response. */
export class Malformed extends RolegateError {}

/** A request has no credentials, or malformed ones, so the service was not asked. */
export class NotAuthenticated extends RolegateError {
  constructor() {
    super("not authenticated", 401, "NOT_AUTHENTICATED", "Not authenticated.");
  }
}

/** The service has answered with an error. */
export class Refused extends RolegateError {
  constructor(
    override readonly reason: Reason,
    /** A text for people. If a value is invalid, it says which rule the value breaks. */
    readonly text: string = "",
  ) {
    const [status, detail] = REASONS[reason];
    super(text ? `${reason}: ${text}` : reason, status, reason, detail || text);
  }
}

/**
 * Returns the error for a reason. For a reason that this version does not know, it is `Malformed`, which is no
 * decision.
 */
export function refusal(reason: string, text?: string): RolegateError {
  if (Object.hasOwn(REASONS, reason)) return new Refused(reason as Reason, text);
  return new Malformed(`unknown reason ${reason}`);
}
