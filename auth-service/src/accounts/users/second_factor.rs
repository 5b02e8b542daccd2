//! Enrolls users in a second factor, turns it on and off, and shows its status.
//!
//! `begin_second_factor` stores a secret and recovery codes. `turn_on_second_factor` checks a first
//! code; only after that do logins require a code. The `Authenticator` checks codes at sign-ins and
//! before changes, and limits wrong ones.

use super::Users;
use crate::{
    accounts::{
        authenticator::codes::{CHANGE_METHOD, match_one_time_code},
        error::AccountError,
        policy::Requirement,
    },
    call_origin::CallOrigin,
    change::Change,
    principal::Principal,
    second_factor::{Code, Enrolment, Mode, SecondFactorKeys},
    store::{CodeLimit, CodePurpose, OneTimeCodeUse},
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use secrecy::SecretString;
use std::mem;

/// The limit towards which wrong codes count when a user turns on a second factor.
///
/// It is the limit for one-time codes, even for a recovery code. Recovery codes cannot turn on a
/// second factor, because they do not prove that the user has set up the device.
const TURN_ON_LIMIT: CodeLimit = CodeLimit::OneTime(CodePurpose::Confirmation);

/// The status of a second factor, as its user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SecondFactorStatus {
    pub(crate) is_on: bool,
    /// The number of unused recovery codes; 0 if the second factor is off.
    pub(crate) recovery_codes: i64,
}

impl Users {
    /// Starts enrolling a second factor for the bearer, who must present the current password.
    /// Returns the enrollment, which has the secret and the recovery codes, and the user.
    ///
    /// A new enrollment replaces an earlier one that was not finished. Logins require no code until
    /// the second factor is turned on.
    pub(crate) async fn begin_second_factor(
        &self,
        credential: &str,
        current_password: SecretString,
        origin: CallOrigin,
    ) -> Result<(Enrolment, User), AccountError> {
        let actor = self
            .authorizer
            .authorize_person(credential, &Requirement::AnyAuthenticated)
            .await?;
        let keys = self.enrolment_keys(&actor.user)?;
        let user_id = actor.user.id;
        let confirmed = self
            .authenticator
            .confirm_password(actor, current_password, CHANGE_METHOD, origin)
            .await?;
        let mut enrolment = Enrolment::generate().map_err(AccountError::internal)?;
        let secret = keys
            .seal(user_id, &*enrolment.secret)
            .map_err(AccountError::internal)?;
        let change = Change::BeginSecondFactor {
            user_id,
            secret,
            recovery_codes: mem::take(&mut enrolment.digests),
        };
        let user = self
            .change_or_reauthorize(credential, confirmed.by, change, Reason::TokenInvalid)
            .await?;
        Ok((enrolment, user))
    }

    /// Turns on the bearer's second factor if the code is right, and returns the user. Counts and
    /// records a wrong code.
    ///
    /// Revokes the bearer's access tokens and sessions, because they were created without a code.
    /// The presented session and the other session of the same sign-in stay valid, because the
    /// bearer has now presented a code.
    pub(crate) async fn turn_on_second_factor(
        &self,
        credential: &str,
        code: &str,
    ) -> Result<User, AccountError> {
        let actor = self
            .authorizer
            .authorize_person(credential, &Requirement::AnyAuthenticated)
            .await?;
        let keys = self.enrolment_keys(&actor.user)?;
        let Timed { at, value: stored } = self.store.second_factor(actor.user.id).await?;
        let begun = stored
            .filter(|begun| keys.has(begun.key_id()))
            .ok_or_else(|| AccountError::second_factor_state("Second factor is not begun."))?;
        self.authenticator.check_wrong_codes(
            &actor.user,
            &begun,
            TURN_ON_LIMIT,
            at,
            CHANGE_METHOD,
        )?;
        let code = Code::parse(code).ok_or(Reason::OtpWrong)?;
        let Some(matched) = match_one_time_code(keys, &begun, actor.user.id, &code, at)? else {
            self.authenticator
                .count_wrong_code(&actor.user, TURN_ON_LIMIT, CHANGE_METHOD)
                .await?;
            return Err(self.authenticator.refuse_wrong_code(
                &actor.user,
                CHANGE_METHOD,
                Reason::OtpWrong,
            ));
        };
        let OneTimeCodeUse { step, secret, .. } = matched;
        let change = Change::TurnOnSecondFactor {
            user_id: actor.user.id,
            secret,
            step,
        };
        let by = Principal::Owner(actor);
        self.change_or_reauthorize(credential, by, change, Reason::TokenInvalid)
            .await
    }

    /// Turns off the bearer's own second factor if the code is right. With a user id, an admin
    /// turns off the second factor of that other user, without a code. Returns the user.
    pub(crate) async fn turn_off_second_factor(
        &self,
        credential: &str,
        user_id: Option<i64>,
        code: &str,
    ) -> Result<User, AccountError> {
        let actor = self
            .authorizer
            .authorize_person(credential, &Requirement::to_act_on(user_id))
            .await?;
        match user_id {
            None => {
                self.authenticator
                    .confirm_by_code(&actor.user, code)
                    .await?;
            }
            Some(own_id) if own_id == actor.user.id => return Err(Reason::OwnSecondFactor.into()),
            Some(other_id) => {
                self.authorizer.find_user(other_id).await?;
            }
        }
        let change = Change::TurnOffSecondFactor {
            user_id: user_id.unwrap_or(actor.user.id),
        };
        let by = Principal::acting_on(user_id, actor);
        Ok(self.changes.apply(by, change).await?)
    }

    /// Returns whether the bearer's second factor is on, and how many recovery codes are left.
    pub(crate) async fn second_factor_status(
        &self,
        credential: &str,
    ) -> Result<SecondFactorStatus, AccountError> {
        let user = self
            .authorizer
            .authorize(credential, &Requirement::AnyAuthenticated)
            .await?
            .user;
        let stored = self.store.second_factor(user.id).await?.value;
        let recovery_codes = match stored {
            Some(stored) if user.second_factor => stored.recovery_codes,
            _ => 0,
        };
        Ok(SecondFactorStatus {
            is_on: user.second_factor,
            recovery_codes,
        })
    }

    /// Returns the keys for a user who may enroll a second factor or turn one on. Fails if second
    /// factors are not available, or the user already has one.
    fn enrolment_keys(&self, user: &User) -> Result<&SecondFactorKeys, AccountError> {
        let policy = &self.policy.second_factor;
        let keys = match &policy.keys {
            Some(keys) if policy.mode != Mode::Off => keys,
            _ => return Err(Reason::SecondFactorUnavailable.into()),
        };
        if user.second_factor {
            return Err(AccountError::second_factor_state(
                "Second factor is already on.",
            ));
        }
        Ok(keys)
    }
}
