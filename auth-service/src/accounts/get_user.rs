//! Gets one user.

use super::{AccountError, Accounts};
use crate::user::User;

impl Accounts {
    /// The user with this id; the actor must be an admin.
    pub async fn get_user(&self, actor: &str, user_id: i64) -> Result<User, AccountError> {
        self.authorize_admin(actor).await?;
        self.reads.user(user_id).await?.value.ok_or(AccountError::UserNotFound)
    }
}
