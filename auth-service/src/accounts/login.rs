//! Exchanges a username and a password for an access token.

use super::{
    credentials::{Checked, Presented},
    error::AccountError,
    service::Accounts,
};
use crate::{
    call_origin::CallOrigin,
    metrics,
    store::UsageKind,
    token::Tokens,
    user::{Credentials, User},
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use rolegate_telemetry::log_once::LogOnce;
use secrecy::{ExposeSecret as _, SecretString};
use std::time::{Duration, Instant};

/// Of logins that the clock refuses, because a client can repeat them.
static CLOCK_BEHIND: LogOnce<()> = LogOnce::at_most(1, Duration::from_secs(10));

impl Accounts {
    /// Issues an access token to the user of this name, if the password is correct. Always runs
    /// bcrypt; the credential cache is for HTTP Basic only.
    pub(crate) async fn login(
        &self,
        username: &str,
        password: SecretString,
        otp: Option<&str>,
        origin: CallOrigin,
    ) -> Result<(SecretString, User), AccountError> {
        let presented = Presented::new(username, password, origin, "login");
        let (checked, mut user) = self.check_password(&presented).await?;
        self.check_code(&user.value, otp, presented.method).await?;
        self.note_login(&mut user);
        self.rehash(&presented, &checked);
        let token = self
            .tokens
            .issue(&user.value, user.at)
            .map_err(AccountError::internal)?;
        metrics::TOKENS_ISSUED.inc();
        Ok((token, user.value))
    }

    /// The user as stored now, and the credentials that were checked, if the password is correct.
    pub(super) async fn check_password(
        &self,
        presented: &Presented<'_>,
    ) -> Result<(Checked, Timed<User>), AccountError> {
        let origin = presented.origin;
        self.check_limit(presented).await?;
        // Before the query, so that refusals in a flood are cheap.
        let slot = self.hasher.admit(origin).await?;
        let stored = self.load(presented).await?;
        let verified = self.verify(presented, stored.as_ref()).await?;
        drop(slot);
        let stored = stored
            .filter(|_| verified.is_match)
            .ok_or(Reason::CredentialsInvalid)?;
        let user = self.user_to_issue(&stored, origin).await?;
        Ok((
            Checked {
                credentials: stored,
                needs_rehash: verified.needs_rehash,
            },
            user,
        ))
    }

    /// Notes that a user has logged in, without a role that grants nothing.
    pub(super) fn note_login(&self, user: &mut Timed<User>) {
        self.take_ineffective_role(&mut user.value);
        self.store
            .note_use(UsageKind::Password, user.value.id, user.at);
    }

    /// The user as stored when a token can be issued: at once, except a few seconds after dozens of
    /// revocations in a row. What happens to the user during the wait counts.
    async fn user_to_issue(
        &self,
        checked: &Credentials,
        origin: CallOrigin,
    ) -> Result<Timed<User>, AccountError> {
        loop {
            let unchanged = self.unchanged(checked).await?;
            let Timed { at, value: user } = &unchanged;
            let retry_after = Duration::from_secs(Tokens::seconds_until_issue(user, *at));
            if retry_after.is_zero() {
                return Ok(unchanged);
            }
            if origin.deadline < Instant::now() + retry_after {
                if CLOCK_BEHIND.is_due(()) {
                    tracing::warn!(
                        user_id = user.id,
                        now = at,
                        last_revocation = user.tokens_not_before,
                        "a user cannot log in: the clock of the database is behind the time of the \
                         user's last revocation; correct the clock, or run user revoke-tokens"
                    );
                }
                let reason = Reason::ClockBehind;
                return Err(AccountError::Later {
                    reason,
                    retry_after,
                });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The user as stored now, unless the password was changed, or the user was deleted or disabled,
    /// since these credentials were read.
    async fn unchanged(&self, checked: &Credentials) -> Result<Timed<User>, AccountError> {
        let Timed { at, value } = self.reads.users.get(checked.user.id).await?;
        let user = value
            .filter(|user| !user.disabled)
            .ok_or(Reason::CredentialsInvalid)?;
        if user.tokens_not_before == checked.user.tokens_not_before {
            return Ok(Timed { at, value: user });
        }
        // A logout elsewhere moves it too, and is no reason to refuse the right password.
        let Timed { at, value } = self.reads.credentials.get(user.username).await?;
        let now = value.filter(|now| {
            let hash = now.password_hash.expose_secret();
            let is_same = hash == checked.password_hash.expose_secret();
            is_same && now.user.id == checked.user.id && !now.user.disabled
        });
        Ok(Timed {
            at,
            value: now.ok_or(Reason::CredentialsInvalid)?.user,
        })
    }
}
