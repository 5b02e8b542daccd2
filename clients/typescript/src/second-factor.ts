/** The second factor of a user, as the service returns it. */

/** The second factor of a user. */
export interface SecondFactor {
  /** True if a sign-in needs a code. */
  readonly enabled: boolean;
  /** The number of recovery codes that are left. */
  readonly recoveryCodes: number;
}

/**
 * The secret and the recovery codes of a new second factor, which the user must keep. The service never returns
 * them again.
 */
export interface SecondFactorEnrolment {
  /** The secret, which is 20 bytes in base32. */
  readonly secret: string;
  /** The secret as a URL for authenticator applications: `otpauth://totp/…`. */
  readonly otpauthUrl: string;
  /** Ten codes, each of which can be used once in place of a one-time code. */
  readonly recoveryCodes: readonly string[];
}
