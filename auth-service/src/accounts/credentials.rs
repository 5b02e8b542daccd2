//! Checks a username and a password: for login, HTTP Basic and a change of one's own password.

use super::{
    error::AccountError, rate_limit::LimitExceeded, service::Accounts, username::check_username,
};
use crate::{
    call_origin::CallOrigin,
    metrics,
    password::{PresentedPassword, Verification},
    user::{Credentials, User},
};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::time::Instant;

/// Credentials to check. An invalid username or password never matches, but is checked at the same cost as
/// a valid one.
pub(super) struct Presented<'a> {
    pub(super) username: &'a str,
    has_valid_name: bool,
    pub(super) password: Option<PresentedPassword>,
    pub(super) origin: CallOrigin,
    /// What the password is checked for, in the audit log.
    pub(super) method: &'static str,
    /// Whether somebody confirms a change by it, who is signed in.
    pub(super) confirms: bool,
}

/// Credentials whose password was correct.
pub(super) struct Checked {
    pub(super) credentials: Credentials,
    pub(super) needs_rehash: bool,
}

impl<'a> Presented<'a> {
    pub(super) fn new(
        username: &'a str,
        password: SecretString,
        origin: CallOrigin,
        method: &'static str,
    ) -> Self {
        let password = PresentedPassword::new(password).ok();
        let has_valid_name = check_username(username).is_ok();
        Self {
            username,
            has_valid_name,
            password,
            origin,
            method,
            confirms: false,
        }
    }
}

impl Accounts {
    /// The stored credentials of the username.
    pub(super) async fn load(
        &self,
        presented: &Presented<'_>,
    ) -> Result<Option<Credentials>, AccountError> {
        if !presented.has_valid_name {
            return Ok(None);
        }
        Ok(self
            .reads
            .credentials
            .get(presented.username.to_owned())
            .await?
            .value)
    }

    /// Refuses a check over the limit. Counts nothing and comes before all other work, so that even
    /// the correct password is refused, cached or not, and refusals cost little.
    pub(super) async fn check_limit(&self, presented: &Presented<'_>) -> Result<(), AccountError> {
        let client = presented.origin.client_key();
        let Err(exceeded) = self.logins.check(presented.username, client) else {
            return Ok(());
        };
        // The audit names the user; a lookup that fails changes nothing about the refusal.
        let stored = if exceeded.first_in_window {
            self.load(presented).await.ok().flatten()
        } else {
            None
        };
        Err(self.refusal(exceeded, presented, stored.as_ref()))
    }

    /// Counts a refused check, and records the first one of its window: a flood of refusals must not fill
    /// the log.
    fn refusal(
        &self,
        exceeded: LimitExceeded,
        presented: &Presented<'_>,
        stored: Option<&Credentials>,
    ) -> AccountError {
        metrics::count_limit_refusal("login");
        if exceeded.first_in_window {
            let user = stored.map(|stored| &stored.user);
            self.note_login_failed(user, presented.method, "too_many_attempts");
        } else {
            self.count_refusal();
        }
        exceeded.into()
    }

    /// Hashes, also for an unknown username, and records the result in the audit log. Counts as
    /// an attempt unless the password is correct or was not checked.
    pub(super) async fn verify(
        &self,
        presented: &Presented<'_>,
        stored: Option<&Credentials>,
    ) -> Result<Verification, AccountError> {
        let &Presented {
            username,
            ref password,
            origin,
            method,
            ..
        } = presented;
        let attempt = self
            .logins
            .acquire(username, origin.client_key(), Instant::now());
        let attempt = attempt.map_err(|exceeded| self.refusal(exceeded, presented, stored))?;
        // A disabled user is checked like an unknown one, at the same cost.
        let hash = stored
            .filter(|stored| !stored.user.disabled)
            .map(|it| &it.password_hash);
        let verified = self.hasher.verify(password.as_ref(), hash, origin).await;
        match &verified {
            Ok(verified) if verified.is_match => attempt.succeed(),
            Ok(_) => drop(attempt),
            Err(_) => attempt.refund(),
        }
        let verified = verified?;
        let user = stored.map(|stored| &stored.user);
        match user {
            // Signing in is not done before the second step, which records it.
            Some(user) if verified.is_match && user.second_factor && !presented.confirms => {}
            Some(user) if verified.is_match => self.note_login_ok(user, method),
            Some(User { disabled: true, .. }) => {
                self.note_login_failed(user, method, "disabled");
            }
            Some(_) => self.note_login_failed(user, method, "wrong_password"),
            None => self.note_login_failed(user, method, "unknown_user"),
        }
        Ok(verified)
    }

    /// Replaces a hash of another algorithm, cost or pepper, unless the password has changed meanwhile. In the
    /// background, because the caller has already waited for one hash.
    pub(super) fn rehash(&self, presented: &Presented<'_>, checked: &Checked) {
        let stored = &checked.credentials;
        let password = presented
            .password
            .as_ref()
            .and_then(PresentedPassword::valid);
        let Some(password) = password.cloned().filter(|_| checked.needs_rehash) else {
            return;
        };
        let (accounts, user_id, origin) = (self.clone(), stored.user.id, presented.origin);
        let old = stored.password_hash.clone();
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
