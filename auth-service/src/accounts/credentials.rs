//! Checks a username and a password: for login, HTTP Basic and a change of one's own password.

use super::{
    error::AccountError, rate_limit::LimitExceeded, service::Accounts, username::check_username,
};
use crate::{
    call_origin::CallOrigin,
    metrics,
    password::{PresentedPassword, Verification},
    user::Credentials,
};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::time::Instant;

/// A username and a password to check. An invalid one never matches, but is checked with the same work as a valid one.
pub(super) struct PresentedCredentials<'a> {
    pub(super) username: &'a str,
    has_valid_username: bool,
    /// `None` for an invalid password.
    pub(super) password: Option<PresentedPassword>,
    pub(super) origin: CallOrigin,
    /// Names in the audit log what the password is checked for.
    pub(super) method: &'static str,
    /// Set when a signed-in user re-enters the password to confirm a change.
    pub(super) confirms_change: bool,
}

impl<'a> PresentedCredentials<'a> {
    pub(super) fn new(
        username: &'a str,
        password: SecretString,
        origin: CallOrigin,
        method: &'static str,
    ) -> Self {
        Self {
            username,
            has_valid_username: check_username(username).is_ok(),
            password: PresentedPassword::new(password).ok(),
            origin,
            method,
            confirms_change: false,
        }
    }
}

impl Accounts {
    /// The stored credentials of the username.
    pub(super) async fn load_credentials(
        &self,
        presented: &PresentedCredentials<'_>,
    ) -> Result<Option<Credentials>, AccountError> {
        if !presented.has_valid_username {
            return Ok(None);
        }
        let username = presented.username.to_owned();
        Ok(self.reads.credentials.get(username).await?.value)
    }

    /// Refuses a check over the limit. It counts nothing and comes before all other work, so that even
    /// the correct password is refused, cached or not, and refusals cost little.
    pub(super) async fn check_limit(
        &self,
        presented: &PresentedCredentials<'_>,
    ) -> Result<(), AccountError> {
        let client = presented.origin.client_key();
        let Err(exceeded) = self.login_limiter.check(presented.username, client) else {
            return Ok(());
        };
        // The audit names the user; a lookup that fails changes nothing about the refusal.
        let stored = if exceeded.first_in_window {
            self.load_credentials(presented).await.ok().flatten()
        } else {
            None
        };
        Err(self.refuse_over_limit(exceeded, presented, stored.as_ref()))
    }

    /// Counts a refused check, and records the first one of its window: a flood of refusals must not fill
    /// the log.
    fn refuse_over_limit(
        &self,
        exceeded: LimitExceeded,
        presented: &PresentedCredentials<'_>,
        stored: Option<&Credentials>,
    ) -> AccountError {
        metrics::count_limit_refusal("login");
        if exceeded.first_in_window {
            let user = stored.map(|stored| &stored.user);
            self.record_login_failure(user, presented.method, "too_many_attempts");
        } else {
            self.count_refusal();
        }
        exceeded.into()
    }

    /// Checks the password by the stored hash. The check counts as an attempt unless the password is correct or was not
    /// checked. Records the sign-in, or the failure with its reason, such as `unknown_user`. An unknown user costs a
    /// hash too.
    pub(super) async fn check_hash_and_record(
        &self,
        presented: &PresentedCredentials<'_>,
        stored: Option<&Credentials>,
    ) -> Result<Verification, AccountError> {
        let client = presented.origin.client_key();
        let attempt = self
            .login_limiter
            .acquire(presented.username, client, Instant::now())
            .map_err(|exceeded| self.refuse_over_limit(exceeded, presented, stored))?;
        // A disabled user is checked like an unknown one, with the same work.
        let hash = stored
            .filter(|stored| !stored.user.disabled)
            .map(|stored| &stored.password_hash);
        let verified = self
            .hasher
            .verify(presented.password.as_ref(), hash, presented.origin)
            .await;
        match &verified {
            Ok(verified) if verified.is_match => attempt.succeed(),
            Ok(_) => drop(attempt),
            Err(_) => attempt.refund(),
        }
        let verified = verified?;
        self.record_verification(presented, stored, verified.is_match);
        Ok(verified)
    }

    fn record_verification(
        &self,
        presented: &PresentedCredentials<'_>,
        stored: Option<&Credentials>,
        is_match: bool,
    ) {
        let method = presented.method;
        let Some(user) = stored.map(|stored| &stored.user) else {
            return self.record_login_failure(None, method, "unknown_user");
        };
        if is_match {
            // The sign-in of a user with a second factor is not complete yet: the check of the code records it.
            if !user.second_factor || presented.confirms_change {
                self.record_login(user, method);
            }
            return;
        }
        let reason = if user.disabled {
            "disabled"
        } else {
            "wrong_password"
        };
        self.record_login_failure(Some(user), method, reason);
    }

    /// Replaces a hash of another algorithm, cost or pepper, unless the password has changed meanwhile. In the
    /// background, because the caller has already waited for one hash.
    pub(super) fn rehash(&self, presented: &PresentedCredentials<'_>, stored: Credentials) {
        let password = presented.password.as_ref();
        let Some(password) = password.and_then(PresentedPassword::valid).cloned() else {
            return;
        };
        let accounts = self.clone();
        let origin = presented.origin;
        let user_id = stored.user.id;
        let old = stored.password_hash;
        tokio::spawn(RequestContext::propagate(async move {
            let rehashed = async {
                let new = accounts.hasher.hash(&password, origin).await?;
                Ok::<_, AccountError>(accounts.store.replace_password(user_id, &old, new).await?)
            };
            match rehashed.await {
                Ok(replaced) => tracing::info!(user_id, replaced, "rehashed a password"),
                Err(error) => tracing::warn!(user_id, %error, "could not rehash a password"),
            }
        }));
    }
}
