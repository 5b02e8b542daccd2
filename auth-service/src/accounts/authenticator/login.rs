//! Exchanges a username and a password for an access token.
//!
//! `check_password` checks the limit, acquires a slot of the password engine, verifies the hash and
//! reads the user again; `session_creation` also calls it. `login` then checks the code of a second
//! factor, and issues the token.

use super::{Authenticator, password_check::PresentedCredentials};
use crate::{
    accounts::error::AccountError,
    call_origin::CallOrigin,
    metrics,
    store::UsageKind,
    tokens::AccessTokens,
    user::{Credentials, User},
};
use rolegate_program::log_limiter::LogLimiter;
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use secrecy::{ExposeSecret as _, SecretString};
use std::time::{Duration, Instant};

/// Limits how often the warning about the clock is logged, because a client can repeat a login that
/// fails because of the clock.
static CLOCK_BEHIND: LogLimiter<()> = LogLimiter::silent_when_full(1, Duration::from_secs(10));

/// The interval at which a waiting login checks whether the clock has reached the time of the last
/// revocation.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// An access token from a login, and its user.
pub(crate) struct IssuedToken {
    pub(crate) access_token: SecretString,
    pub(crate) user: User,
}

/// A user whose password was correct.
pub(super) struct PasswordLogin {
    /// The credentials against which the password was checked.
    pub(super) stored: Credentials,
    pub(super) needs_rehash: bool,
    /// The user, read again after the check.
    pub(super) user: Timed<User>,
}

impl Authenticator {
    /// Issues an access token to the user with this name. The password must be correct and, if the
    /// user has a second factor, the code as well.
    ///
    /// The password is always hashed, because the cache of verified passwords is for HTTP Basic
    /// only. The time of the login is stored, and an outdated hash is replaced, both in the
    /// background.
    pub(crate) async fn login(
        &self,
        username: &str,
        password: SecretString,
        code: Option<&str>,
        origin: CallOrigin,
    ) -> Result<IssuedToken, AccountError> {
        let presented = PresentedCredentials::new(username, password, origin, "login");
        let PasswordLogin {
            stored,
            needs_rehash,
            mut user,
        } = self.check_password(&presented).await?;
        self.check_second_factor(&user.value, code, presented.method)
            .await?;
        self.policy.take_ineffective_role(&mut user.value);
        self.update_last_login(&user);
        if needs_rehash {
            self.rehash(&presented, stored);
        }
        let access_token = self
            .tokens
            .issue(&user.value, user.at)
            .map_err(AccountError::internal)?;
        metrics::METRICS.tokens_issued.inc();
        Ok(IssuedToken {
            access_token,
            user: user.value,
        })
    }

    /// Checks the limit and the password, records the outcome, and waits until a token can be
    /// issued. Returns the user as stored then. Fails with [`Reason::CredentialsInvalid`] if the
    /// username is unknown or the password is wrong.
    pub(super) async fn check_password(
        &self,
        presented: &PresentedCredentials<'_>,
    ) -> Result<PasswordLogin, AccountError> {
        let origin = presented.origin;
        self.check_limit(presented).await?;
        // The slot is acquired before the query, so that refusals are cheap in a flood.
        let slot = self.hasher.admit(origin).await?;
        let stored = self.load_credentials(presented).await?;
        let verification = self
            .check_hash_and_record(presented, stored.as_ref())
            .await?;
        drop(slot);
        let stored = stored
            .filter(|_| verification.is_match)
            .ok_or(Reason::CredentialsInvalid)?;
        let user = self.wait_to_issue(&stored, origin).await?;
        Ok(PasswordLogin {
            stored,
            needs_rehash: verification.needs_rehash,
            user,
        })
    }

    /// Stores the time of a login in the background, so that lists of users can show it.
    pub(super) fn update_last_login(&self, user: &Timed<User>) {
        self.store
            .note_use(UsageKind::Password, user.value.id, user.at);
    }

    /// Waits until a token can be issued to the user, and returns the user as stored then.
    ///
    /// Usually it returns at once. A login waits a few seconds after dozens of revocations in a
    /// row, and longer after a revocation by a clock that was ahead, because `tokens_not_before` is
    /// then too far ahead. If the wait would exceed the deadline, the login fails at once, and a
    /// warning is logged.
    ///
    /// The user is read again in each round, so changes during the wait take effect.
    async fn wait_to_issue(
        &self,
        checked: &Credentials,
        origin: CallOrigin,
    ) -> Result<Timed<User>, AccountError> {
        loop {
            let user = self.reload_user(checked).await?;
            let retry_after =
                Duration::from_secs(AccessTokens::seconds_until_issue(&user.value, user.at));
            if retry_after.is_zero() {
                return Ok(user);
            }
            if origin.deadline < Instant::now() + retry_after {
                warn_of_clock(&user);
                return Err(AccountError::RetryLater {
                    reason: Reason::ClockBehind,
                    retry_after,
                });
            }
            tokio::time::sleep(CLOCK_POLL_INTERVAL).await;
        }
    }

    /// Reads the user again. Fails if the password was changed, or the user was deleted or
    /// disabled, since these credentials were read.
    async fn reload_user(&self, checked: &Credentials) -> Result<Timed<User>, AccountError> {
        let Timed { at, value } = self.reads.users.get(checked.user.id).await?;
        let user = value
            .filter(|user| !user.disabled)
            .ok_or(Reason::CredentialsInvalid)?;
        if user.tokens_not_before == checked.user.tokens_not_before {
            return Ok(Timed { at, value: user });
        }
        // A logout on another device also moves `tokens_not_before`, but must not fail this login.
        // So the stored hashes are compared to find out whether the password has changed.
        let Timed { at, value } = self.reads.credentials.get(user.username).await?;
        let stored = value.ok_or(Reason::CredentialsInvalid)?;
        let has_same_hash =
            stored.password_hash.expose_secret() == checked.password_hash.expose_secret();
        let user = stored.user;
        if !has_same_hash || user.id != checked.user.id || user.disabled {
            return Err(Reason::CredentialsInvalid.into());
        }
        Ok(Timed { at, value: user })
    }
}

fn warn_of_clock(user: &Timed<User>) {
    if CLOCK_BEHIND.claim(()) {
        tracing::warn!(
            user_id = user.value.id,
            now = user.at,
            last_revocation = user.value.tokens_not_before,
            "a user cannot log in: the clock of the database is behind the time of the \
             user's last revocation; correct the clock, or run user revoke-tokens"
        );
    }
}
