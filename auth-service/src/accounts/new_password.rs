//! What every change of a password does, whoever asks for it.

use super::{ADMIN_USERNAME, AccountError, Accounts};
use crate::{
    password::{Password, Urgency},
    store::{NewPassword, StoreError},
    user::User,
};
use service_runtime::request_context::RequestContext;
use std::sync::Arc;

impl Accounts {
    /// Gives a user this password, ends the user's tokens and `tell`s of it. What Basic remembers ends
    /// with the old hash. With `seen`, only while `tokens_not_before` still is that: while nobody else
    /// has given another one. `None` when it was not done.
    pub(super) async fn give_password(
        &self,
        user_id: i64,
        password: &Password,
        seen: Option<u64>,
        urgency: Urgency,
        tell: impl FnOnce(&User) + Send + 'static,
    ) -> Result<Option<User>, AccountError> {
        let hash = self.hasher.hash(password, urgency).await?;
        let new = NewPassword { hash, tokens_not_before: self.tokens.end_of_tokens() };
        let (store, initial) = (Arc::clone(&self.store), self.initial_password.clone());
        let given = RequestContext::to_the_end(async move {
            let user = store.set_password(user_id, new, seen).await?;
            if let Some(user) = &user {
                tell(user);
                if user.username == ADMIN_USERNAME {
                    initial.forget();
                }
            }
            Ok::<_, StoreError>(user)
        });
        Ok(given.await?)
    }
}
