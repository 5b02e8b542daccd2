//! Replacing the role of a user.

use super::{AccountError, Accounts};
use crate::{role::Role, user::User};

impl Accounts {
    /// Replaces the role of a user. The order of the checks is part of the contract: the actor's
    /// token, the actor's role, the user, and only then the role (`None` for what is no role).
    pub async fn set_user_role(
        &self,
        actor: &str,
        user_id: i64,
        role: Option<Role>,
    ) -> Result<User, AccountError> {
        self.authorize_admin(actor).await?;
        let Some(role) = role else {
            let exists = self.reads.user(user_id).await?.is_some();
            return Err(if exists {
                AccountError::RoleInvalid
            } else {
                AccountError::UserNotFound
            });
        };
        self.store.set_role(user_id, role).await?.ok_or(AccountError::UserNotFound)
    }
}
