//! Registers a user.

use super::{AccountError, Accounts, Username, unknown_outcome::audited};
use crate::{
    audit::{self, Event},
    metrics,
    request_origin::RequestOrigin,
    store::{InsertError, NewUser},
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::{sync::Arc, time::Instant};

impl Accounts {
    /// Creates a user with the role `user`.
    pub async fn register(
        &self,
        username: &str,
        password: SecretString,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        if !self.policy.registration_open {
            return Err(AccountError::RegistrationClosed);
        }
        let username = Username::of_new_user(username).map_err(AccountError::UsernameInvalid)?;
        let password =
            self.policy.passwords.check(password).map_err(AccountError::PasswordInvalid)?;
        let _slot = self.hasher.admit(origin).await?;
        // Per address, whatever the username; never refunded, because each costs a hash.
        let attempt = self.registrations.acquire("", origin.client_key(), Instant::now());
        drop(attempt.inspect_err(|_| metrics::limit_exceeded("registration"))?);
        let password_hash = self.hasher.hash(&password, origin).await?;
        username.check_reserved()?;
        let new = NewUser { username: username.into_string(), password_hash, role: Role::User };
        let store = Arc::clone(&self.store);
        let inserted = RequestContext::run_to_completion(async move {
            let user = audited(store.insert(None, new).await, "registered", None, None)?;
            audit::record(Event::Registered { user: &user });
            Ok::<_, InsertError>(user)
        });
        Ok(inserted.await?)
    }
}
