//! Verifies the username and the password of each HTTP Basic request.
//!
//! `verify_credentials` first tries the password as an API key. Then `verify_password` looks for a
//! cached success, and `verify_uncached` checks the stored hash. Only the last step counts an
//! attempt. `recall` answers those requests of a batch that need no hash.

mod recall;

use super::{Authenticator, password_check::PresentedCredentials};
use crate::{
    accounts::{error::AccountError, policy::Requirement},
    actor::Actor,
    audit,
    call_origin::CallOrigin,
    metrics,
    password::CacheKey,
    store::{DecisionKey, UsageKind},
    tokens::{SecretKind, TokenBearer},
    user::{Credentials, User},
};
use rolegate_proto::{Reason, Role};
use rolegate_sql_store::Timed;
use secrecy::{ExposeSecret as _, SecretString};

/// A username and a password of HTTP Basic, and the origin of their request.
#[derive(Clone)]
pub(crate) struct BasicCredentials {
    pub(crate) username: String,
    pub(crate) password: SecretString,
    /// True if the password may also be an API key of the user.
    pub(crate) accept_api_keys: bool,
    /// The requirement to which the caller will compare the user. Only its names are checked here.
    pub(crate) requirement: Requirement,
    pub(crate) origin: CallOrigin,
}

/// A user whose credentials were verified.
pub(crate) struct AuthenticatedUser {
    pub(crate) user: User,
    /// The user's role if it has no effect, as in [`Actor::ineffective_role`].
    pub(crate) ineffective_role: Option<Role>,
}

impl From<Actor> for AuthenticatedUser {
    fn from(actor: Actor) -> Self {
        Self {
            user: actor.user,
            ineffective_role: actor.ineffective_role,
        }
    }
}

impl BasicCredentials {
    /// Returns the digest by which the API key is read, if the password has exactly the form of one
    /// and API keys are accepted.
    fn api_key(&self) -> Option<DecisionKey<String>> {
        if !self.accept_api_keys {
            return None;
        }
        let digest = SecretKind::ApiKey.digest(self.password.expose_secret())?;
        Some(self.requirement.decision_key(digest))
    }
}

impl Authenticator {
    /// Returns the user with this name, if the password matches or is a valid API key of that user.
    /// Fails last if the requirement names an unknown role or group.
    ///
    /// An API key is looked up before the limit is checked. A password that has the form of a key,
    /// but is no valid key of this user, is checked as a password. So a guess costs and counts the
    /// same, whether or not it has the form of a key. The check of an unknown user costs the same,
    /// too, because [`Self::check_hash_and_record`] hashes the password even without a stored hash.
    pub(crate) async fn verify_credentials(
        &self,
        credentials: BasicCredentials,
    ) -> Result<AuthenticatedUser, AccountError> {
        if let Some(key) = credentials.api_key() {
            // The future is boxed, so that the future of a request with a password stays small.
            let found = Box::pin(self.reads.tokens.get(key)).await?;
            if let Some(user) = self.accept_api_key(&credentials.username, found) {
                return self.with_known_names(user, &credentials.requirement);
            }
        }
        let requirement = credentials.requirement.clone();
        let verified = self.verify_password(credentials).await;
        metrics::count_login("basic", verified.as_ref().err().map(AccountError::reason));
        self.with_known_names(verified?, &requirement)
    }

    /// Returns the user of an API key if the key is active and belongs to the user with this name.
    /// It then also counts, logs and stores the use of the key.
    fn accept_api_key(&self, username: &str, found: Timed<Option<TokenBearer>>) -> Option<User> {
        let Timed { at, value: key } = found;
        let key = key.filter(|key| key.is_active_at(at) && key.user.username == username)?;
        metrics::METRICS.api_keys_accepted.inc();
        audit::log_api_key_use(&key);
        self.store.note_use(UsageKind::Token, key.token_id, at);
        Some(key.into_bounded_user())
    }

    /// Returns the user with this name, if the password is correct. Every call reads the stored
    /// hash.
    ///
    /// A success that is cached for this client needs no hashing and does not count as an attempt.
    /// The limit is checked first, because otherwise a cached success would tell a guesser over the
    /// limit which guess is right.
    async fn verify_password(&self, credentials: BasicCredentials) -> Result<User, AccountError> {
        let username = &*credentials.username;
        let origin = credentials.origin;
        let mut presented =
            PresentedCredentials::new(username, credentials.password, origin, "basic");
        presented.requirement = credentials.requirement;
        self.check_limit(&presented).await?;
        let stored = self.load_credentials(&presented).await?;
        let active = stored.as_ref().filter(|stored| !stored.user.disabled);
        let hash = active.map(|stored| stored.password_hash.expose_secret());
        let cache_key = presented.password.as_ref().map(|password| {
            let password = password.secret().expose_secret();
            self.cache
                .key(username, hash, password, origin.client_key())
        });
        // HTTP Basic has no second step, so users with a second factor are refused. Their passwords
        // are checked first, at the same cost as those of other users, and never cached.
        let cacheable = active.filter(|stored| !stored.user.second_factor);
        let user = if let (Some(cache_key), Some(stored)) = (&cache_key, cacheable)
            && let Some(hit) = self.cache.get(cache_key, origin.deadline)
        {
            metrics::METRICS.basic_cache_hits.inc();
            if hit.is_first_in_minute {
                audit::log_login(&stored.user, presented.method);
            }
            stored.user.clone()
        } else {
            // The future is boxed, so that the future of a request that the cache answers stays
            // small.
            Box::pin(self.verify_uncached(&presented, stored, cache_key)).await?
        };
        Ok(user)
    }

    /// Verifies a password against the stored hash, caches a success and returns the user.
    /// Identical checks at the same time share one hash and count as one attempt, because all of
    /// them learn the same result.
    async fn verify_uncached(
        &self,
        presented: &PresentedCredentials<'_>,
        stored: Option<Credentials>,
        cache_key: Option<CacheKey>,
    ) -> Result<User, AccountError> {
        let check = async {
            let _slot = self.hasher.admit(presented.origin).await?;
            Ok::<_, AccountError>(
                self.check_hash_and_record(presented, stored.as_ref())
                    .await?
                    .is_match,
            )
        };
        let is_match = match cache_key {
            Some(cache_key) => self.cache.single_flight(cache_key, check).await?,
            None => check.await?,
        };
        let user = stored
            .filter(|_| is_match)
            .ok_or(Reason::CredentialsInvalid)?
            .user;
        // HTTP Basic has no field for a code, so this refuses every user with a second factor.
        let code = None;
        self.check_second_factor(&user, code, presented.method)
            .await?;
        if let Some(cache_key) = cache_key {
            self.cache.insert(cache_key, presented.origin.deadline);
        }
        Ok(user)
    }

    /// Fails if the requirement names an unknown role or group. Otherwise returns the user with the effective role.
    fn with_known_names(
        &self,
        user: User,
        requirement: &Requirement,
    ) -> Result<AuthenticatedUser, AccountError> {
        self.policy.require_known_names(requirement, &user)?;
        Ok(self.with_effective_role(user))
    }

    /// Replaces a role that has no effect at this service by `user`, and returns it separately.
    fn with_effective_role(&self, mut user: User) -> AuthenticatedUser {
        let ineffective_role = self.policy.take_ineffective_role(&mut user);
        AuthenticatedUser {
            user,
            ineffective_role,
        }
    }
}
