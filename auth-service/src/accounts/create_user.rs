//! Creates a user, for an admin.

use super::{AccountError, Accounts, Username, unknown_outcome::audited};
use crate::{
    audit::{self, Event},
    request_origin::RequestOrigin,
    store::{InsertError, NewUser},
    user::User,
};
use rolegate_proto::Role;
use rolegate_telemetry::request_context::RequestContext;
use secrecy::SecretString;
use std::sync::Arc;

impl Accounts {
    /// Creates a user with a role; the actor must be an admin. Works while registration is disabled,
    /// and counts towards no limit. The contract fixes the order of the checks: the actor's token, the
    /// actor's role, the username, the password, the role (`None` for an unknown one).
    pub async fn create_user(
        &self,
        actor: &str,
        username: &str,
        password: SecretString,
        role: Option<Role>,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        let username = Username::of_new_user(username).map_err(AccountError::UsernameInvalid)?;
        let password =
            self.policy.passwords.check(password).map_err(AccountError::PasswordInvalid)?;
        let role = role.ok_or(AccountError::RoleInvalid)?;
        let password_hash = self.hasher.hash(&password, origin).await?;
        username.check_reserved()?;
        let new = NewUser { username: username.into_string(), password_hash, role };
        let store = Arc::clone(&self.store);
        let inserted = RequestContext::run_to_completion(async move {
            // Hashing takes a while, so the store checks again that the actor is an admin.
            let created = store.insert(Some(actor.user.id), new).await;
            let user = audited(created, "user_created", Some(actor.user.id), None)?;
            audit::record(Event::UserCreated { actor: &actor, user: &user });
            Ok::<_, InsertError>(user)
        });
        Ok(inserted.await?)
    }
}
