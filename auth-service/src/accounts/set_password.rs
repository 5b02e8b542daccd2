//! Sets the password of another user, for an admin.

use super::{AccountError, Accounts, Requirement};
use crate::{
    audit::{self, Event},
    request_origin::RequestOrigin,
    store::PasswordWriter,
    user::User,
};
use rolegate_proto::Role;
use secrecy::SecretString;

impl Accounts {
    /// Replaces the password of another user and revokes the user's tokens. The contract fixes the order
    /// of the checks: the actor's token, the actor's role, the user, the password.
    pub async fn set_password(
        &self,
        access_token: &str,
        user_id: i64,
        password: SecretString,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        let admin = Requirement::Roles(vec![Role::Admin]);
        // Nor may a stolen API key, which would then log in.
        let actor = self.authorize_actor(access_token, &admin).await?.without_key()?;
        if user_id == actor.user.id {
            // A stolen token must not become an account: the own password needs the current one.
            return Err(AccountError::OwnPassword);
        }
        self.reads.user(user_id).await?.value.ok_or(AccountError::UserNotFound)?;
        let password =
            self.policy.passwords.check(password).map_err(AccountError::PasswordInvalid)?;
        // Hashing can take seconds under load, so the write re-checks that the actor is an admin.
        let admin = PasswordWriter::Admin(actor.user.id);
        let record = move |user: &User| audit::record(Event::PasswordSet { actor: &actor, user });
        let replaced = self.replace_password(user_id, &password, admin, origin, record).await?;
        if let Some(user) = replaced {
            return Ok(user);
        }
        self.authorize_admin(access_token).await?;
        Err(AccountError::UserNotFound)
    }
}
