//! Answers the requests of a batch that need no hash: those with a cached password or an API key.

use super::{AuthenticatedUser, BasicCredentials};
use crate::{
    accounts::{authenticator::Authenticator, error::AccountError, username::check_username},
    metrics,
    password::Recall,
    store::DecisionKey,
    tokens::TokenBearer,
    user::{Credentials, User},
};
use rolegate_program::{log_limiter::LogLimiter, request_context::RequestContext};
use rolegate_sql_store::RowsByKey;
use secrecy::ExposeSecret as _;
use std::time::Duration;

/// Limits the warnings about guesses: one a minute for each user, and 10 a minute for all users.
static GUESSED: LogLimiter<i64> = LogLimiter::silent_when_full(10, Duration::from_mins(1));

/// Credentials that may be answered without a hash.
struct RecallCheck {
    credentials: BasicCredentials,
    /// The digest by which the API key is read; `None` for a password in any other form, which may be
    /// cached.
    api_key: Option<DecisionKey<String>>,
}

impl Authenticator {
    /// Returns the users of those requests that need no hash, in the order of the requests. It runs
    /// one statement for passwords and one for keys.
    ///
    /// A request is answered here if the names in its requirement exist and
    /// [`Self::verify_credentials`] would answer it by an API key, or from the cache without a line
    /// in the audit log. Nothing is refused: every other request gets `None`, and the caller sends it
    /// to `verify_credentials`. A password that is not cached counts as a guess, and many guesses
    /// invalidate the cached entries of that name. A password in the form of an API key does not
    /// count, because keys are never cached.
    pub(crate) async fn recall(
        &self,
        checks: Vec<Option<BasicCredentials>>,
    ) -> Result<Vec<Option<AuthenticatedUser>>, AccountError> {
        let checks: Vec<Option<RecallCheck>> = checks
            .into_iter()
            .map(|credentials| self.recall_check(credentials?))
            .collect();
        let mut usernames = Vec::with_capacity(checks.len());
        let mut digests = Vec::new();
        for check in checks.iter().flatten() {
            if let Some(key) = &check.api_key {
                digests.push(key.clone());
            } else {
                let credentials = &check.credentials;
                let username = credentials.username.clone();
                usernames.push(credentials.requirement.decision_key(username));
            }
        }
        let (stored, keys) = tokio::try_join!(
            self.reads.credentials.get_all(usernames),
            self.reads.tokens.get_all(digests)
        )?;
        let mut recalled = Vec::with_capacity(checks.len());
        for check in checks {
            recalled.push(match check {
                Some(check) => self.answer(check, &stored, &keys).await,
                None => None,
            });
        }
        Ok(recalled)
    }

    /// Answers one request from the rows that were read for its batch.
    async fn answer(
        &self,
        check: RecallCheck,
        stored: &RowsByKey<String, Credentials>,
        keys: &RowsByKey<String, TokenBearer>,
    ) -> Option<AuthenticatedUser> {
        let credentials = check.credentials;
        let Some(key) = check.api_key else {
            let row = stored.value.get(&credentials.username);
            let stored = row.and_then(|row| row.as_ref().ok());
            return self.recall_password(&credentials, stored);
        };
        let found = keys.find(&key.key).ok()?;
        let bearer = found.value.as_ref()?;
        self.policy
            .require_known_names(&credentials.requirement, &bearer.user)
            .ok()?;
        let admit = async { self.accept_api_key(&credentials.username, found) };
        let user =
            RequestContext::with_client_address(credentials.origin.client_address, admit).await?;
        Some(self.with_effective_role(user))
    }

    /// Prepares the check of these credentials. Returns `None` if the username is malformed or a
    /// limit is reached; neither matters for an API key.
    fn recall_check(&self, credentials: BasicCredentials) -> Option<RecallCheck> {
        let api_key = credentials.api_key();
        if api_key.is_none() {
            let username = &credentials.username;
            let client = credentials.origin.client_key();
            if check_username(username).is_err() || self.login_limiter.is_full(username, client) {
                return None;
            }
        }
        Some(RecallCheck {
            credentials,
            api_key,
        })
    }

    /// Returns the user of a password that is cached for this client. Returns `None` if the
    /// password is not cached, or if the user is disabled or has a second factor. If there were too
    /// many guesses for this username, counts this one, and may log it.
    fn recall_password(
        &self,
        credentials: &BasicCredentials,
        stored: Option<&Credentials>,
    ) -> Option<AuthenticatedUser> {
        let active = stored.filter(|stored| !stored.user.disabled);
        // The key is computed even for an unknown name, so that the time does not reveal which
        // names exist.
        let hash = active.map(|stored| stored.password_hash.expose_secret());
        let password = credentials.password.expose_secret();
        let client = credentials.origin.client_key();
        let key = self
            .cache
            .key(&credentials.username, hash, password, client);
        let recalled = self.cache.recall(&key, credentials.origin.deadline);
        if recalled == Recall::TooManyMisses {
            count_guess(stored.map(|stored| &stored.user));
        }
        let user = &active?.user;
        let requirement = &credentials.requirement;
        let are_names_known = self.policy.require_known_names(requirement, user).is_ok();
        if !recalled.is_hit() || user.second_factor || !are_names_known {
            return None;
        }
        metrics::METRICS.basic_cache_hits.inc();
        metrics::count_login("basic", None);
        Some(self.with_effective_role(user.clone()))
    }
}

/// Counts a guess after too many others, and warns about it unless `GUESSED` suppresses the
/// warning. An unknown name is not logged, because the client may have sent a password in its
/// place.
fn count_guess(user: Option<&User>) {
    metrics::count_limit_refusal("basic");
    let Some(user) = user else { return };
    if GUESSED.claim(user.id) {
        tracing::warn!(
            user_id = user.id,
            username = user.username,
            "a hundred wrong passwords in a minute, in batches of HTTP Basic"
        );
    }
}
