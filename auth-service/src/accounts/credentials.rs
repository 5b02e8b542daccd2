//! A username and a password from somewhere, and whether they belong together.

use super::{AccountError, Accounts, Username};
use crate::{
    audit::{self, AuthMethod, Event, Failure},
    metrics,
    password::{CacheKey, Password, Verification},
    request_origin::RequestOrigin,
    user::Credentials,
};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::{ExposeSecret, SecretString};
use std::time::Instant;

/// What somebody claims. A name or a password that nobody can have is kept as `None`: it is checked
/// like any other, against the stand-in, and is wrong.
pub(super) struct Presented<'a> {
    /// As sent.
    pub(super) text: &'a str,
    username: Option<Username>,
    password: Option<Password>,
}

impl<'a> Presented<'a> {
    pub(super) fn new(username: &'a str, password: SecretString) -> Self {
        // What may be set is `register`'s rule; what was set under an older rule stays good.
        let password = Password::new(password, 1).ok();
        Self { text: username, username: Username::new(username).ok(), password }
    }

    pub(super) fn password(&self) -> Option<&Password> {
        self.password.as_ref()
    }
}

impl Accounts {
    /// The stored credentials of the claimed name.
    pub(super) async fn load(
        &self,
        presented: &Presented<'_>,
    ) -> Result<Option<Credentials>, AccountError> {
        match &presented.username {
            Some(username) => Ok(self.reads.credentials(username.as_str().to_owned()).await?),
            None => Ok(None),
        }
    }

    /// The work of a check, counted as a guess unless the password was right, or was not looked at.
    /// An unknown name costs what a wrong password costs. The audit is told of every verdict.
    pub(super) async fn verify(
        &self,
        presented: &Presented<'_>,
        stored: Option<&Credentials>,
        origin: RequestOrigin,
        method: AuthMethod,
    ) -> Result<Verification, AccountError> {
        let user = stored.map(|stored| &stored.user);
        let attempt = self.logins.acquire(presented.text, origin.client_key(), Instant::now());
        let attempt = attempt.inspect_err(|many| {
            metrics::limit_exceeded("login");
            // Whoever is refused at the speed of the network must not fill the log as quickly.
            if many.first_in_window {
                audit::record(Event::LoginFailed {
                    user,
                    method,
                    reason: Failure::TooManyAttempts,
                });
            }
        })?;
        let hash = stored.map(|stored| &stored.password_hash);
        let checked = self.hasher.verify(presented.password(), hash, origin).await;
        if checked.as_ref().map_or(true, |checked| checked.is_match) {
            attempt.refund();
        }
        let checked = checked?;
        audit::record(match user {
            Some(user) if checked.is_match => Event::LoginOk { user, method },
            Some(_) => Event::LoginFailed { user, method, reason: Failure::WrongPassword },
            None => Event::LoginFailed { user, method, reason: Failure::UnknownUser },
        });
        Ok(checked)
    }

    /// Replaces a hash of another cost, now that its password is at hand. In the background: the
    /// caller has waited for one hash already. Never over a hash that somebody changed meanwhile.
    pub(super) fn rehash(
        &self,
        presented: &Presented<'_>,
        stored: &Credentials,
        origin: RequestOrigin,
    ) {
        let Some(password) = presented.password().cloned() else { return };
        let (accounts, user_id) = (self.clone(), stored.user.id);
        let old = stored.password_hash.clone();
        tokio::spawn(RequestContext::propagate(async move {
            let renewed = async {
                let new = accounts.hasher.hash(&password, origin).await?;
                Ok::<_, AccountError>(accounts.store.replace_password(user_id, &old, new).await?)
            };
            match renewed.await {
                Ok(replaced) => tracing::info!(user_id, replaced, "renewed a password hash"),
                Err(error) => tracing::warn!(user_id, %error, "could not renew a password hash"),
            }
        }));
    }

    /// What stands for this check in the cache.
    pub(super) fn cache_key(
        &self,
        presented: &Presented<'_>,
        stored: Option<&Credentials>,
    ) -> Option<CacheKey> {
        let password = presented.password()?;
        let hash = stored.map(|stored| stored.password_hash.expose_secret());
        Some(self.cache.cache_key(presented.text, hash, password.expose()))
    }
}
