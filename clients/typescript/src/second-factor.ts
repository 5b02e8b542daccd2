/** Second factors. */

/** The second factor of a user. */
export interface SecondFactor {
  /** Whether sign-ins need a code. */
  readonly enabled: boolean;
  /** The recovery codes that are left. */
  readonly recoveryCodes: number;
}

/** What a user keeps of a second factor. Never shown again. */
export interface SecondFactorEnrolment {
  /** 20 bytes in base32. */
  readonly secret: string;
  /** The same for authenticator applications: `otpauth://totp/…`. */
  readonly otpauthUrl: string;
  /** Ten, each good once in place of a code. */
  readonly recoveryCodes: readonly string[];
}
