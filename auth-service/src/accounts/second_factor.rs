//! Second factors: how they begin, are asked for, and end.

use super::{authorize::Requirement, error::AccountError, service::Accounts, write::revoke_again};
use crate::{
    actor::Actor,
    audit::{Change, Initiator, Write},
    call_origin::CallOrigin,
    metrics,
    second_factor::{Code, Enrolment, Mode, SecondFactorKeys, matching_step},
    store::{CodeLimit, CodePurpose, OneTimeCodeUse, StoredSecondFactor, WriteError},
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use secrecy::SecretString;
use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

/// Of a change of the second factor, in the record.
const METHOD: &str = "second_factor";
/// What counts the wrong codes by which a second factor is turned on. A recovery code proves no phone.
const TURN_ON: CodeLimit = CodeLimit::OneTime(CodePurpose::Confirmation);

impl Accounts {
    /// Begins a second factor of the bearer, who must present the current password, in place of one that was begun
    /// before. It asks for nothing until a code of it was presented.
    pub(crate) async fn begin_second_factor(
        &self,
        credential: &str,
        current: SecretString,
        origin: CallOrigin,
    ) -> Result<(Enrolment, User), AccountError> {
        let (actor, keys) = self.unenrolled(credential).await?;
        let (stored, _slot) = self
            .confirm_password(&actor.user, current, METHOD, origin)
            .await?;
        let mut enrolment = Enrolment::generate().map_err(AccountError::internal)?;
        let sealed = keys.seal(actor.user.id, &*enrolment.secret);
        let (sealed, store) = (
            sealed.map_err(AccountError::internal)?,
            Arc::clone(&self.store),
        );
        let digests = std::mem::take(&mut enrolment.digests);
        let begin = move |write| async move {
            store
                .begin_second_factor(&stored.user, sealed, digests, write)
                .await
        };
        let user = self
            .run_own(credential, &actor, Change::SecondFactorBegun, begin)
            .await?;
        Ok((enrolment, user))
    }

    /// Turns it on by a code, and ends every token and session of the bearer, which were made without one. The session that
    /// does it has now shown the code, and stays with the other one of its sign-in.
    pub(crate) async fn turn_on_second_factor(
        &self,
        credential: &str,
        otp: &str,
    ) -> Result<User, AccountError> {
        let (actor, keys) = self.unenrolled(credential).await?;
        let Timed { at, value } = self.store.second_factor(actor.user.id).await?;
        let begun = value.filter(|it| keys.has(it.key_id()));
        let begun =
            begun.ok_or_else(|| AccountError::second_factor("Second factor is not begun."))?;
        check_wrong_codes(&begun, TURN_ON, at)
            .inspect_err(|error| self.note_unchecked_code(&actor.user, METHOD, error))?;
        let code = Code::parse(otp).ok_or(Reason::OtpWrong)?;
        let step = one_time_step(&keys, &begun, actor.user.id, &code, at)?;
        let Some((step, _)) = step else {
            self.count_wrong(&actor.user, TURN_ON)
                .await
                .inspect_err(|error| self.note_unchecked_code(&actor.user, METHOD, error))?;
            return Err(self.wrong_code(&actor.user, METHOD, Reason::OtpWrong));
        };
        let (store, user) = (Arc::clone(&self.store), actor.user.clone());
        let session = actor.session_id();
        let turn_on = move |write: Write| async move {
            let start = Instant::now();
            let on = store
                .turn_on_second_factor(&user, session, begun.secret, step, write.clone())
                .await?;
            revoke_again(&*store, start, on, session, write).await
        };
        self.run_own(credential, &actor, Change::SecondFactorEnabled, turn_on)
            .await
    }

    /// Turns it off: for the bearer by a code, or for an admin that of another user.
    pub(crate) async fn turn_off_second_factor(
        &self,
        credential: &str,
        user_id: Option<i64>,
        otp: &str,
    ) -> Result<User, AccountError> {
        let requirement = Requirement::of_user_or_admin(user_id);
        let actor = self
            .authorize(credential, &requirement)
            .await?
            .require_person()?;
        let (change, id) = match user_id {
            Some(id) if id == actor.user.id => return Err(Reason::OwnSecondFactor.into()),
            Some(id) => (Change::SecondFactorRemoved, self.find(id).await?.id),
            None => (Change::SecondFactorDisabled, actor.user.id),
        };
        if user_id.is_none() {
            if !actor.user.second_factor {
                return Err(WriteError::SecondFactorOff.into());
            }
            let code = Code::parse(otp).ok_or(Reason::OtpWrong)?;
            let is_taken = self
                .take_code(&actor.user, code, CodePurpose::Confirmation)
                .await
                .inspect_err(|error| self.note_unchecked_code(&actor.user, METHOD, error))?;
            if !is_taken {
                return Err(self.wrong_code(&actor.user, METHOD, Reason::OtpWrong));
            }
        }
        let (store, admin) = (Arc::clone(&self.store), user_id.map(|_| actor.user.id));
        let by = if admin.is_some() {
            Initiator::Actor(actor)
        } else {
            Initiator::Owner {
                session: actor.session_id(),
            }
        };
        let turn_off =
            move |write| async move { store.turn_off_second_factor(admin, id, write).await };
        Ok(Write::new(change, by, Some(id))
            .run(turn_off, Write::log_user)
            .await?)
    }

    /// Whether the bearer's is on, and how many recovery codes are left.
    pub(crate) async fn second_factor_of(
        &self,
        credential: &str,
    ) -> Result<(bool, i64), AccountError> {
        let user = self
            .authorize(credential, &Requirement::AnyAuthenticated)
            .await?
            .user;
        let stored = self.store.second_factor(user.id).await?.value;
        let is_on = user.second_factor;
        Ok((
            is_on,
            stored
                .filter(|_| is_on)
                .map_or(0, |factor| factor.recovery_codes),
        ))
    }

    /// The second step of a sign-in by a right password: checks the code of a user who needs one, and records the sign-in.
    pub(super) async fn check_code(
        &self,
        user: &User,
        otp: Option<&str>,
        method: &'static str,
    ) -> Result<(), AccountError> {
        if !user.second_factor {
            return Ok(());
        }
        let Some(code) = otp.and_then(Code::parse) else {
            self.note_login_failed(Some(user), method, "otp_required");
            return Err(Reason::OtpRequired.into());
        };
        let is_taken = self
            .take_code(user, code, CodePurpose::SignIn)
            .await
            .inspect_err(|error| self.note_unchecked_code(user, method, error))?;
        if !is_taken {
            return Err(self.wrong_code(user, method, Reason::OtpInvalid));
        }
        self.note_login_ok(user, method);
        Ok(())
    }

    /// Uses up a code and returns true if it was good. A wrong one is counted, even a malformed one.
    async fn take_code(
        &self,
        user: &User,
        code: Code,
        purpose: CodePurpose,
    ) -> Result<bool, AccountError> {
        let Timed { at, value } = self.store.second_factor(user.id).await?;
        let Some(factor) = value else {
            return Ok(false);
        };
        let limit = match code {
            Code::Recovery(_) => CodeLimit::Recovery(purpose),
            Code::OneTime(_) | Code::Malformed => CodeLimit::OneTime(purpose),
        };
        check_wrong_codes(&factor, limit, at)?;
        let is_taken = if let Code::Recovery(digest) = code {
            let (store, id, user) = (Arc::clone(&self.store), user.id, user.clone());
            let named = user.clone();
            let take = move |write| async move {
                Ok(store
                    .use_recovery_code(&user, purpose, digest, write)
                    .await?)
            };
            let record = move |write: &Write, is_used: &bool| {
                if *is_used {
                    write.log_user(&named);
                }
            };
            let write = Write::new(
                Change::RecoveryCodeUsed,
                Initiator::Owner { session: None },
                Some(id),
            );
            write.run(take, record).await?
        } else {
            let keys = self.policy.second_factor.keys.as_ref().ok_or_else(no_key)?;
            match one_time_step(keys, &factor, user.id, &code, at)? {
                Some((step, sealed)) => {
                    let code = OneTimeCodeUse {
                        step,
                        secret: factor.secret,
                        new_secret: sealed,
                    };
                    self.store.use_one_time_code(user.id, purpose, code).await?
                }
                None => false,
            }
        };
        if !is_taken {
            self.count_wrong(user, limit).await?;
        }
        Ok(is_taken)
    }

    async fn count_wrong(&self, user: &User, limit: CodeLimit) -> Result<(), AccountError> {
        if self.store.count_wrong_code(user.id, limit).await? {
            return Ok(());
        }
        // Others were counted meanwhile.
        let Timed { at, value } = self.store.second_factor(user.id).await?;
        value.map_or(Ok(()), |factor| check_wrong_codes(&factor, limit, at))
    }

    /// Records that a code was not checked, if the error is that there were too many wrong ones before.
    fn note_unchecked_code(&self, user: &User, method: &'static str, error: &AccountError) {
        if error.reason() == Reason::TooManyAttempts {
            self.note_login_failed(Some(user), method, "too_many_codes");
        }
    }

    fn wrong_code(&self, user: &User, method: &'static str, reason: Reason) -> AccountError {
        self.note_login_failed(Some(user), method, "wrong_otp");
        reason.into()
    }

    /// The bearer, who is no program and whose second factor is not on, and the keys for it.
    async fn unenrolled(
        &self,
        credential: &str,
    ) -> Result<(Actor, Arc<SecondFactorKeys>), AccountError> {
        let any = Requirement::AnyAuthenticated;
        let actor = self.authorize(credential, &any).await?.require_person()?;
        let policy = &self.policy.second_factor;
        let keys = policy.keys.clone().filter(|_| policy.mode != Mode::Off);
        let keys = keys.ok_or(Reason::SecondFactorUnavailable)?;
        if actor.user.second_factor {
            return Err(AccountError::second_factor("Second factor is already on."));
        }
        Ok((actor, keys))
    }

    /// A change of the bearer, whose credential may have ended meanwhile.
    async fn run_own<W>(
        &self,
        credential: &str,
        actor: &Actor,
        change: Change,
        write: impl FnOnce(Write) -> W + Send + 'static,
    ) -> Result<User, AccountError>
    where
        W: Future<Output = Result<User, WriteError>> + Send + 'static,
    {
        let own = Write::new(
            change,
            Initiator::Owner {
                session: actor.session_id(),
            },
            Some(actor.user.id),
        );
        let changed = own.run(write, Write::log_user).await;
        let (any, otherwise) = (Requirement::AnyAuthenticated, Reason::TokenInvalid);
        self.or_reauthorize(changed, credential, &any, otherwise)
            .await
    }
}

/// The step of a one-time code that was not used, and the secret, sealed with the newest key.
fn one_time_step(
    keys: &SecondFactorKeys,
    factor: &StoredSecondFactor,
    user_id: i64,
    code: &Code,
    at: u64,
) -> Result<Option<(i64, String)>, AccountError> {
    let Code::OneTime(otp) = code else {
        return Ok(None);
    };
    let secret = keys.open(user_id, &factor.secret).ok_or_else(no_key)?;
    let last = factor.last_step.unsigned_abs();
    let Some(step) = matching_step(&secret, *otp, at, last) else {
        return Ok(None);
    };
    // Only under another key: of two codes at the same time, the second must find the secret that it read.
    let sealed = if keys.is_newest(factor.key_id()) {
        factor.secret.clone()
    } else {
        keys.seal(user_id, &secret)
            .map_err(AccountError::internal)?
    };
    Ok(Some((step.try_into().unwrap_or(i64::MAX), sealed)))
}

fn check_wrong_codes(
    factor: &StoredSecondFactor,
    limit: CodeLimit,
    at: u64,
) -> Result<(), AccountError> {
    let Some(seconds) = factor.refused_for(limit, at) else {
        return Ok(());
    };
    metrics::count_limit_refusal("one_time_code");
    let (reason, retry_after) = (Reason::TooManyAttempts, Duration::from_secs(seconds));
    Err(AccountError::Later {
        reason,
        retry_after,
    })
}

/// Of another replica's user: a service does not start without the keys of those who exist.
fn no_key() -> AccountError {
    AccountError::internal(io::Error::other(
        "neither SECOND_FACTOR_KEY nor SECOND_FACTOR_KEYS_ACCEPTED contains the key of a user's second factor",
    ))
}
