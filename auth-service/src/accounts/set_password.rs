//! An admin gives somebody another password.

use super::{AccountError, Accounts};
use crate::{
    audit::{self, Event},
    password::Password,
    request_origin::RequestOrigin,
    store::PasswordWriter,
    user::User,
};
use secrecy::SecretString;

impl Accounts {
    /// Replaces the password of a user, and ends the user's tokens. The order of the checks is part
    /// of the contract: the actor's token, the actor's role, the user, and only then the password.
    pub async fn set_password(
        &self,
        access_token: &str,
        user_id: i64,
        password: SecretString,
        origin: RequestOrigin,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(access_token).await?;
        self.reads.user(user_id).await?.ok_or(AccountError::UserNotFound)?;
        let password = Password::new(password, self.policy.password_min_length)
            .map_err(AccountError::PasswordInvalid)?;
        // The hash takes a while, in a flood of logins seconds: who is no admin any more when it is
        // done sets nothing.
        let admin = PasswordWriter::Admin(actor.id);
        let record = move |user: &User| audit::record(Event::PasswordSet { actor: &actor, user });
        let given = self.replace_password(user_id, &password, admin, origin, record).await?;
        if let Some(user) = given {
            return Ok(user);
        }
        self.authorize_admin(access_token).await?;
        Err(AccountError::UserNotFound)
    }
}
