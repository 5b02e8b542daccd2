//! What every change of a password does, whoever asks for it.

use super::{ADMIN_USERNAME, AccountError, Accounts};
use crate::{
    password::{Password, Urgency},
    store::NewPassword,
    user::User,
};

impl Accounts {
    /// Gives a user this password and ends the user's tokens. What Basic remembers ends with the old
    /// hash. With `seen`, only while `tokens_not_before` still is that: while nobody else has given
    /// another one. `None` when it was not done.
    pub(super) async fn give_password(
        &self,
        user_id: i64,
        password: &Password,
        seen: Option<u64>,
        urgency: Urgency,
    ) -> Result<Option<User>, AccountError> {
        let hash = self.hasher.hash(password, urgency).await?;
        let new = NewPassword { hash, tokens_not_before: self.tokens.end_of_tokens() };
        let user = self.store.set_password(user_id, new, seen).await?;
        if user.as_ref().is_some_and(|user| user.username == ADMIN_USERNAME) {
            self.initial_password.forget();
        }
        Ok(user)
    }
}
