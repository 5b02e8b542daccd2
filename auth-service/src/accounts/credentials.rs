//! Checks a username and a password: for login, HTTP Basic and a change of one's own password.

use super::{
    error::AccountError, rate_limit::LimitExceeded, service::Accounts, username::Username,
};
use crate::{
    audit::{self, AuthMethod, Failure},
    call_origin::CallOrigin,
    metrics,
    password::{PresentedPassword, Verification},
    user::{Credentials, User},
};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::time::Instant;

/// Login credentials. An invalid username or password becomes `None`, which never matches but is
/// checked at the same cost as a valid one.
pub(super) struct Presented<'a> {
    /// The username as sent.
    pub(super) text: &'a str,
    username: Option<Username>,
    pub(super) password: Option<PresentedPassword>,
}

impl<'a> Presented<'a> {
    pub(super) fn new(username: &'a str, password: SecretString) -> Self {
        let password = PresentedPassword::new(password).ok();
        Self { text: username, username: Username::new(username).ok(), password }
    }
}

impl Accounts {
    /// The stored credentials of the username.
    pub(super) async fn load(
        &self,
        presented: &Presented<'_>,
    ) -> Result<Option<Credentials>, AccountError> {
        match &presented.username {
            Some(username) => Ok(self.reads.credentials(username.as_str().to_owned()).await?.value),
            None => Ok(None),
        }
    }

    /// Refuses a check over the limit. Counts nothing and comes before all other work, so that even
    /// the correct password is refused, cached or not, and refusals cost little.
    pub(super) async fn check_limit(
        &self,
        presented: &Presented<'_>,
        origin: CallOrigin,
        method: AuthMethod,
    ) -> Result<(), AccountError> {
        let Err(exceeded) = self.logins.check(presented.text, origin.client_key()) else {
            return Ok(());
        };
        // The audit names the user; a lookup that fails changes nothing about the refusal.
        let stored =
            if exceeded.first_in_window { self.load(presented).await.ok().flatten() } else { None };
        Err(refusal(exceeded, stored.as_ref(), method))
    }

    /// Hashes, also for an unknown username, and records the result in the audit log. Counts as
    /// an attempt unless the password is correct or was not checked.
    pub(super) async fn verify(
        &self,
        presented: &Presented<'_>,
        stored: Option<&Credentials>,
        origin: CallOrigin,
        method: AuthMethod,
    ) -> Result<Verification, AccountError> {
        let user = stored.map(|stored| &stored.user);
        let attempt = self.logins.acquire(presented.text, origin.client_key(), Instant::now());
        let attempt = attempt.map_err(|exceeded| refusal(exceeded, stored, method))?;
        // A disabled user is checked like an unknown one, at the same cost.
        let hash = stored.filter(|stored| !stored.user.disabled).map(|it| &it.password_hash);
        let verified = self.hasher.verify(presented.password.as_ref(), hash, origin).await;
        match &verified {
            Ok(verified) if verified.is_match => attempt.succeed(),
            Ok(_) => drop(attempt),
            Err(_) => attempt.refund(),
        }
        let verified = verified?;
        match user {
            Some(user) if verified.is_match => audit::login_ok(user, method),
            Some(User { disabled: true, .. }) => {
                audit::login_failed(user, method, Failure::Disabled);
            }
            Some(_) => audit::login_failed(user, method, Failure::WrongPassword),
            None => audit::login_failed(user, method, Failure::UnknownUser),
        }
        Ok(verified)
    }

    /// Replaces a hash of another algorithm, cost or pepper, unless the password has changed meanwhile. In the
    /// background, because the caller has already waited for one hash.
    pub(super) fn rehash(
        &self,
        presented: &Presented<'_>,
        stored: &Credentials,
        origin: CallOrigin,
    ) {
        let password = presented.password.as_ref().and_then(PresentedPassword::valid);
        let Some(password) = password.cloned() else { return };
        let (accounts, user_id) = (self.clone(), stored.user.id);
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

/// Counts a refused check, and records the first one of its window: a flood of refusals must not fill
/// the log.
fn refusal(
    exceeded: LimitExceeded,
    stored: Option<&Credentials>,
    method: AuthMethod,
) -> AccountError {
    metrics::limit_exceeded("login");
    if exceeded.first_in_window {
        let user = stored.map(|stored| &stored.user);
        audit::login_failed(user, method, Failure::TooManyAttempts);
    }
    exceeded.into()
}
