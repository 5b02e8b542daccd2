//! An admin gives somebody another password.

use super::{AccountError, Accounts, Origin, password_check::urgency};
use crate::{
    audit::{self, Event},
    password::Password,
    user::User,
};
use secrecy::SecretString;

impl Accounts {
    /// Replaces the password of a user, and ends the user's tokens. The order of the checks is part
    /// of the contract: the actor's token, the actor's role, the user, and only then the password.
    pub async fn set_password(
        &self,
        actor: &str,
        user_id: i64,
        password: SecretString,
        origin: Origin,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(actor).await?;
        self.reads.user(user_id).await?.ok_or(AccountError::UserNotFound)?;
        let password = Password::new(password, self.policy.password_min_length)
            .map_err(AccountError::PasswordInvalid)?;
        let tell = move |user: &User| audit::tell(Event::PasswordSet { actor: &actor, user });
        let user = self.give_password(user_id, &password, None, urgency(origin), tell).await?;
        user.ok_or(AccountError::UserNotFound)
    }
}
