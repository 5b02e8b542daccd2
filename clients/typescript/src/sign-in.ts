/** The calls by which users sign in and manage passwords and second factors. */

import type { Context, Method } from "./calls.js";
import * as methods from "./methods.js";
import {
  type NewUser, newUserFrom, type PasswordLink, passwordLinkFrom, type PasswordLinkHolder, passwordLinkHolderFrom,
  type PasswordPolicy, passwordPolicyFrom,
} from "./password-link.js";
import type { SecondFactor, SecondFactorEnrolment } from "./second-factor.js";
import { type NewSession, sessionFrom } from "./session.js";
import { idFrom, type Login, type Role, roleFields, userFrom } from "./user.js";

/** The methods of `AuthClient` for these calls. */
export abstract class SignIn {
  protected abstract call<Request, Response>(
    method: Method<Request, Response>,
    message: Request,
    context: Context,
    actor?: string,
  ): Promise<Response>;

  /**
   * Checks a username and a password, and issues an access token.
   *
   * `otp` is a one-time code or a recovery code. Users whose second factor is on need one.
   */
  async login(username: string, password: string, context: Context = {}, otp?: string): Promise<Login> {
    const response = await this.call(methods.LOGIN, { username, password, otp }, context);
    return { accessToken: response.accessToken, user: userFrom(response.user) };
  }

  /** Checks the same credentials as `login`, and creates a session. */
  async createSession(
    username: string,
    password: string,
    options: { name?: string | undefined; userAgent?: string | undefined; otp?: string | undefined } = {},
    context: Context = {},
  ): Promise<NewSession> {
    const { name, userAgent = "", otp } = options;
    const ofApi = { forDomain: false, forApplication: false, withApplication: false, place: "" };
    const message = { username, password, name, userAgent, otp, ...ofApi };
    const { token, session, user } = await this.call(methods.CREATE_SESSION, message, context);
    return { token, session: sessionFrom(session), user: userFrom(user) };
  }

  /** Creates a user without a password, and a link by which the user chooses one. */
  async createUserWithLink(
    actor: string,
    username: string,
    role: Role = "user",
    context: Context = {},
  ): Promise<NewUser> {
    const message = { username, password: "", ...roleFields(role), passwordLink: true };
    return newUserFrom(await this.call(methods.CREATE_USER, message, context, actor));
  }

  /** Creates a link by which another user chooses a password. It replaces an earlier link of that user. */
  async createPasswordLink(actor: string, id: number, context: Context = {}): Promise<PasswordLink> {
    const message = { userId: BigInt(id) };
    return passwordLinkFrom((await this.call(methods.CREATE_PASSWORD_LINK, message, context, actor)).link);
  }

  /**
   * Sets the password of the user for whom a link was created, and revokes the user's tokens and sessions. The
   * call needs no actor.
   */
  async redeemPasswordLink(token: string, password: string, context: Context = {}): Promise<void> {
    await this.call(methods.REDEEM_PASSWORD_LINK, { token, password }, context);
  }

  /**
   * Returns the user whose password a link sets, and the expiry of the link. The link stays valid. The call
   * needs no actor.
   */
  async getPasswordLink(token: string, context: Context = {}): Promise<PasswordLinkHolder> {
    return passwordLinkHolderFrom(await this.call(methods.GET_PASSWORD_LINK, { token }, context));
  }

  /** Returns the allowed lengths of new passwords. The call needs no actor. */
  async getPasswordPolicy(context: Context = {}): Promise<PasswordPolicy> {
    return passwordPolicyFrom(await this.call(methods.GET_PASSWORD_POLICY, {}, context));
  }

  /**
   * Starts enrolling a second factor of the bearer of `actor`.
   *
   * Authenticator applications show `issuer`, which must have no colon. Without it they show `Rolegate`.
   */
  async enrolSecondFactor(
    actor: string,
    currentPassword: string,
    context: Context = {},
    issuer?: string,
  ): Promise<SecondFactorEnrolment> {
    return this.call(methods.ENROL_SECOND_FACTOR, { currentPassword, issuer }, context, actor);
  }

  /**
   * Turns on the enrolled second factor, given a code, and revokes every access token and session of the user.
   *
   * If `actor` is a session, that session stays valid.
   */
  async enableSecondFactor(actor: string, otp: string, context: Context = {}): Promise<void> {
    await this.call(methods.ENABLE_SECOND_FACTOR, { otp }, context, actor);
  }

  /** Turns off the second factor of the bearer of `actor`, given a one-time code or a recovery code. */
  async disableSecondFactor(actor: string, otp: string, context: Context = {}): Promise<void> {
    await this.call(methods.DISABLE_SECOND_FACTOR, { otp }, context, actor);
  }

  /** Turns off the second factor of another user. */
  async removeSecondFactor(actor: string, id: number, context: Context = {}): Promise<void> {
    await this.call(methods.DISABLE_SECOND_FACTOR, { userId: BigInt(id), otp: "" }, context, actor);
  }

  /** Returns the state of the second factor of the bearer of `actor`, which may be any credential. */
  async getSecondFactor(actor: string, context: Context = {}): Promise<SecondFactor> {
    const { enabled, recoveryCodes } = await this.call(methods.GET_SECOND_FACTOR, {}, context, actor);
    return { enabled, recoveryCodes: idFrom(recoveryCodes) };
  }
}
