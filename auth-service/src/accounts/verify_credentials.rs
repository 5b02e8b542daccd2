//! Verifies usernames and passwords, for each request of HTTP Basic.

use super::{
    credentials::Presented, error::AccountError, service::Accounts, username::check_username,
};
use crate::{
    actor::Actor,
    audit,
    call_origin::CallOrigin,
    metrics,
    opaque_token::{self, TokenBearer},
    password::{CacheKey, Recall},
    store::UsageKind,
    user::{Credentials, User},
};
use rolegate_proto::{Reason, Role, authorization::is_api_key};
use rolegate_sql_store::Timed;
use rolegate_telemetry::{log_once::LogOnce, request_context::RequestContext};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;

/// Limits how often it is logged that the password of a user is being guessed.
static GUESSED: LogOnce<i64> = LogOnce::at_most(10, Duration::from_mins(1));

/// A username and a password, and who presents them.
#[derive(Clone, Debug)]
pub(crate) struct BasicCheck {
    pub(crate) username: String,
    pub(crate) password: SecretString,
    /// Whether a live API key of the user stands for the password.
    pub(crate) accept_api_keys: bool,
    pub(crate) origin: CallOrigin,
}

/// A user whose credentials were verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthenticatedUser {
    pub(crate) user: User,
    /// See [`Actor::ineffective_role`].
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

impl BasicCheck {
    /// The digest of a password that may be an API key, because it has exactly the form of one.
    fn key_digest(&self) -> Option<String> {
        let password = self.password.expose_secret();
        let may_be_key = self.accept_api_keys && is_api_key(password);
        may_be_key.then(|| opaque_token::digest(password)).flatten()
    }
}

impl Accounts {
    /// The user of this name, if the password is correct or a live API key of the user, with the stored role if it
    /// does not count here.
    ///
    /// The key is looked up before the limit is asked, and only a live one of this user is a key. Anything else of that
    /// form is checked as a password, so that a guess costs and counts the same whether or not it was a key.
    pub(crate) async fn verify_credentials(
        &self,
        check: BasicCheck,
    ) -> Result<AuthenticatedUser, AccountError> {
        if let Some(digest) = check.key_digest() {
            // Boxed, so that a password moves no room for a key.
            let found = Box::pin(self.reads.tokens.get(digest)).await?;
            if let Some(verified) = self.admit_key_of(&check.username, found) {
                return Ok(verified);
            }
        }
        let verified = self.verify_password(check).await;
        metrics::count_login("basic", verified.as_ref().err().map(AccountError::reason));
        verified
    }

    /// Admits the bearer of a key that is good and of the user of this name, and notes its use.
    fn admit_key_of(
        &self,
        username: &str,
        Timed { at, value: key }: Timed<Option<TokenBearer>>,
    ) -> Option<AuthenticatedUser> {
        let key = key.filter(|key| key.is_active_at(at) && key.user.username == username)?;
        metrics::count_api_key(true);
        audit::log_api_key_use(&key);
        self.store.note_use(UsageKind::Token, key.token_id, at);
        Some(self.authenticated(key.into_bounded_user()))
    }

    /// The user of this name, if the password is correct. Every call reads the stored hash; a success
    /// that is cached for this client runs no bcrypt and does not count as an attempt. The limit
    /// is asked first: a cached success must not tell a guesser over the limit which guess is right.
    async fn verify_password(&self, check: BasicCheck) -> Result<AuthenticatedUser, AccountError> {
        let username = &*check.username;
        let origin = check.origin;
        let presented = Presented::new(username, check.password, origin, "basic");
        self.check_limit(&presented).await?;
        let stored = self.load(&presented).await?;
        let active = stored.as_ref().filter(|stored| !stored.user.disabled);
        let hash = active.map(|stored| stored.password_hash.expose_secret());
        let key = presented.password.as_ref().map(|password| {
            let password = password.secret().expose_secret();
            self.cache
                .key(username, hash, password, origin.client_key())
        });
        // Basic has no second step: users with a second factor are checked at the same cost, then refused.
        let cached = active.filter(|stored| !stored.user.second_factor);
        let user = if let (Some(key), Some(stored)) = (&key, cached)
            && let Some(hit) = self.cache.get(key, origin.deadline)
        {
            metrics::BASIC_CACHE_HITS.inc();
            if hit.is_first_in_minute {
                audit::log_login(&stored.user, presented.method);
            }
            stored.user.clone()
        } else {
            // Boxed, so that a hit moves no room for a check.
            Box::pin(self.check_credentials(&presented, stored, key)).await?
        };
        Ok(self.authenticated(user))
    }

    /// The users of those checks that [`Self::verify_credentials`] would answer by a key, or from the cache without a
    /// line in the audit log, read with one statement for each. It is asked for the others, which nothing here refuses.
    /// Here they count only towards the end of what is cached for the name. Those that may be keys do not count, as no
    /// key is cached.
    pub(crate) async fn recall(
        &self,
        checks: Vec<Option<BasicCheck>>,
    ) -> Result<Vec<Option<AuthenticatedUser>>, AccountError> {
        let is_allowed = |check: &BasicCheck| {
            let is_valid = check_username(&check.username).is_ok();
            let client = check.origin.client_key();
            check.key_digest().is_some()
                || is_valid && !self.logins.is_full(&check.username, client)
        };
        let checks: Vec<_> = checks
            .into_iter()
            .map(|check| check.filter(is_allowed))
            .collect();
        let mut usernames = Vec::with_capacity(checks.len());
        let mut digests = Vec::new();
        for check in checks.iter().flatten() {
            match check.key_digest() {
                Some(digest) => digests.push(digest),
                None => usernames.push(check.username.clone()),
            }
        }
        let (stored, keys) = tokio::try_join!(
            self.reads.credentials.get_all(usernames),
            self.reads.tokens.get_all(digests)
        )?;
        let recall = async |check: BasicCheck| {
            let Some(digest) = check.key_digest() else {
                let stored = stored.value.get(&check.username);
                return self.recall_password(&check, stored.and_then(|it| it.as_ref().ok()));
            };
            let key = keys.value.get(&digest).and_then(|it| it.as_ref().ok());
            let found = Timed {
                at: keys.at,
                value: key.cloned(),
            };
            let admit = async { self.admit_key_of(&check.username, found) };
            RequestContext::with_client_address(check.origin.client_address, admit).await
        };
        let mut recalled = Vec::with_capacity(checks.len());
        for check in checks {
            recalled.push(match check {
                Some(check) => recall(check).await,
                None => None,
            });
        }
        Ok(recalled)
    }

    /// The verified user, whose stored role counts only if it has an effect here.
    fn authenticated(&self, mut user: User) -> AuthenticatedUser {
        let ineffective_role = self.take_ineffective_role(&mut user);
        AuthenticatedUser {
            user,
            ineffective_role,
        }
    }

    /// The user of a password that is remembered for this client.
    fn recall_password(
        &self,
        check: &BasicCheck,
        stored: Option<&Credentials>,
    ) -> Option<AuthenticatedUser> {
        let active = stored.filter(|stored| !stored.user.disabled);
        // For an unknown name too: it costs as much as another.
        let hash = active.map(|stored| stored.password_hash.expose_secret());
        let password = check.password.expose_secret();
        let client = check.origin.client_key();
        let key = self.cache.key(&check.username, hash, password, client);
        let recalled = self.cache.recall(&key, check.origin.deadline);
        if recalled == Recall::TooManyMisses {
            note_guess(stored.map(|stored| &stored.user));
        }
        let user = active
            .filter(|it| recalled.is_hit() && !it.user.second_factor)?
            .user
            .clone();
        metrics::BASIC_CACHE_HITS.inc();
        metrics::count_login("basic", None);
        Some(self.authenticated(user))
    }

    /// Identical checks at the same time are one attempt: together they learn one result.
    async fn check_credentials(
        &self,
        presented: &Presented<'_>,
        stored: Option<Credentials>,
        key: Option<CacheKey>,
    ) -> Result<User, AccountError> {
        let check = async {
            let _slot = self.hasher.admit(presented.origin).await?;
            Ok::<_, AccountError>(self.verify(presented, stored.as_ref()).await?.is_match)
        };
        let is_match = match key {
            Some(key) => self.cache.single_flight(key, check).await?,
            None => check.await?,
        };
        let user = stored
            .filter(|_| is_match)
            .ok_or(Reason::CredentialsInvalid)?
            .user;
        self.check_code(&user, None, presented.method).await?;
        if let Some(key) = key {
            self.cache.insert(key, presented.origin.deadline);
        }
        Ok(user)
    }
}

/// Counts a guess in batches, and warns about the first of a user. A name that no user has is only counted: it is the text
/// of a client, and may be a password.
fn note_guess(user: Option<&User>) {
    metrics::count_limit_refusal("basic");
    let Some(user) = user else { return };
    if GUESSED.is_due(user.id) {
        tracing::warn!(
            user_id = user.id,
            username = user.username,
            "a hundred wrong passwords in a minute, in batches of HTTP Basic"
        );
    }
}
