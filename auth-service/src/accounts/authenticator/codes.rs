//! Checks one-time codes and recovery codes, and limits wrong ones. A user presents a code after
//! the password at a sign-in, or to confirm a change.

use super::Authenticator;
use crate::{
    accounts::error::AccountError,
    metrics,
    second_factor::{Code, SecondFactorKeys, matching_step},
    store::{CodeLimit, CodePurpose, OneTimeCodeUse, StoredSecondFactor, WriteError},
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use std::{io, time::Duration};

/// The purpose, in the log and the record, of a check that confirms a change of the second factor.
pub(crate) const CHANGE_METHOD: &str = "second_factor";

impl Authenticator {
    /// Checks the code of a user with a second factor after the password. Records the sign-in, or
    /// the failure if the code is missing or wrong. Other users need no code; their sign-in was
    /// recorded with the password.
    pub(crate) async fn check_second_factor(
        &self,
        user: &User,
        code: Option<&str>,
        method: &'static str,
    ) -> Result<(), AccountError> {
        if !user.second_factor {
            return Ok(());
        }
        let Some(code) = code.and_then(Code::parse) else {
            self.recorder
                .record_login_failure(Some(user), method, "otp_required");
            return Err(Reason::OtpRequired.into());
        };
        self.accept_code(user, code, CodePurpose::SignIn, method)
            .await?;
        self.recorder.record_login(user, method);
        Ok(())
    }

    /// Checks and uses up the code with which a user confirms turning off the second factor.
    pub(crate) async fn confirm_by_code(
        &self,
        user: &User,
        code: &str,
    ) -> Result<(), AccountError> {
        if !user.second_factor {
            return Err(WriteError::SecondFactorOff.into());
        }
        let code = Code::parse(code).ok_or(Reason::OtpWrong)?;
        self.accept_code(user, code, CodePurpose::Confirmation, CHANGE_METHOD)
            .await
    }

    /// Uses up a code. Fails if the code is wrong or too many codes were wrong before, and records
    /// the failure. Counts a wrong code, even if it is malformed.
    async fn accept_code(
        &self,
        user: &User,
        code: Code,
        purpose: CodePurpose,
        method: &'static str,
    ) -> Result<(), AccountError> {
        let reason = match purpose {
            CodePurpose::SignIn => Reason::OtpInvalid,
            CodePurpose::Confirmation => Reason::OtpWrong,
        };
        let Timed { at, value } = self.store.second_factor(user.id).await?;
        let Some(factor) = value else {
            return Err(self.refuse_wrong_code(user, method, reason));
        };
        let limit = match code {
            Code::Recovery(_) => CodeLimit::Recovery(purpose),
            Code::OneTime(_) | Code::Malformed => CodeLimit::OneTime(purpose),
        };
        self.check_wrong_codes(user, &factor, limit, at, method)?;
        let is_used = match code {
            Code::Recovery(digest) => {
                self.changes
                    .use_recovery_code(user.clone(), purpose, digest)
                    .await?
            }
            Code::OneTime(_) | Code::Malformed => {
                let keys = self.policy.second_factor.keys.as_ref();
                let keys = keys.ok_or_else(missing_key)?;
                match match_one_time_code(keys, &factor, user.id, &code, at)? {
                    Some(code) => self.store.use_one_time_code(user.id, purpose, code).await?,
                    None => false,
                }
            }
        };
        if is_used {
            return Ok(());
        }
        self.count_wrong_code(user, limit, method).await?;
        Err(self.refuse_wrong_code(user, method, reason))
    }

    /// Counts a wrong code. Fails if the limit was already reached, because concurrent requests
    /// have counted other wrong codes.
    pub(crate) async fn count_wrong_code(
        &self,
        user: &User,
        limit: CodeLimit,
        method: &'static str,
    ) -> Result<(), AccountError> {
        if self.store.count_wrong_code(user.id, limit).await? {
            return Ok(());
        }
        let Timed { at, value } = self.store.second_factor(user.id).await?;
        match value {
            Some(factor) => self.check_wrong_codes(user, &factor, limit, at, method),
            None => Ok(()),
        }
    }

    /// Fails if this limit of wrong codes is reached. Counts and records the refusal.
    pub(crate) fn check_wrong_codes(
        &self,
        user: &User,
        factor: &StoredSecondFactor,
        limit: CodeLimit,
        at: u64,
        method: &'static str,
    ) -> Result<(), AccountError> {
        let Some(seconds) = factor.refused_for(limit, at) else {
            return Ok(());
        };
        metrics::count_limit_refusal("one_time_code");
        self.recorder
            .record_login_failure(Some(user), method, "too_many_codes");
        Err(AccountError::too_many_attempts(Duration::from_secs(
            seconds,
        )))
    }

    pub(crate) fn refuse_wrong_code(
        &self,
        user: &User,
        method: &'static str,
        reason: Reason,
    ) -> AccountError {
        self.recorder
            .record_login_failure(Some(user), method, "wrong_otp");
        reason.into()
    }
}

/// Compares a one-time code with the user's secret. Returns the use to store, or `None` if the code
/// is wrong or was used before.
pub(crate) fn match_one_time_code(
    keys: &SecondFactorKeys,
    factor: &StoredSecondFactor,
    user_id: i64,
    code: &Code,
    at: u64,
) -> Result<Option<OneTimeCodeUse>, AccountError> {
    let Code::OneTime(code) = code else {
        return Ok(None);
    };
    let secret = keys.open(user_id, &factor.secret).ok_or_else(missing_key)?;
    let last_step = factor.last_step.unsigned_abs();
    let Some(time_step) = matching_step(&secret, *code, at, last_step) else {
        return Ok(None);
    };
    // If the newest key encrypted the secret, the stored text must stay the same, because the store
    // accepts a concurrent code only if it finds the text that was read for that code. If an older
    // key did, the secret is encrypted again with the newest key.
    let new_secret = if keys.is_newest(factor.key_id()) {
        factor.secret.clone()
    } else {
        keys.seal(user_id, &secret)
            .map_err(AccountError::internal)?
    };
    Ok(Some(OneTimeCodeUse {
        step: time_step.try_into().unwrap_or(i64::MAX),
        secret: factor.secret.clone(),
        new_secret,
    }))
}

/// Returns the error for a second factor that no key of this replica can decrypt. Each replica
/// checks at its start that it has the keys of all second factors that are on. So another replica
/// has probably enrolled this user since, with a key that this replica lacks.
fn missing_key() -> AccountError {
    AccountError::internal(io::Error::other(
        "neither SECOND_FACTOR_KEY nor SECOND_FACTOR_KEYS_ACCEPTED contains the key of a user's second factor",
    ))
}
