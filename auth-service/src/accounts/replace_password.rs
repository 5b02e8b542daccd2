//! What every change of a password does, whoever asks for it.

use super::{ADMIN_USERNAME, AccountError, Accounts};
use crate::{
    password::Password,
    request_origin::RequestOrigin,
    store::{NewPassword, PasswordWriter, StoreError},
    user::User,
};
use rolegate_telemetry::request_context::RequestContext;
use std::sync::Arc;

impl Accounts {
    /// Gives a user this password, ends the user's tokens and `record`s of it. What Basic remembers ends
    /// with the old hash. `None` when what `writer` says did not hold any more.
    pub(super) async fn replace_password(
        &self,
        user_id: i64,
        password: &Password,
        writer: PasswordWriter,
        origin: RequestOrigin,
        record: impl FnOnce(&User) + Send + 'static,
    ) -> Result<Option<User>, AccountError> {
        let hash = self.hasher.hash(password, origin).await?;
        let (store, initial) = (Arc::clone(&self.store), self.initial_password.clone());
        let tokens = self.tokens.clone();
        let given = RequestContext::run_to_completion(async move {
            let new = |hash| NewPassword { hash, tokens_not_before: tokens.revocation_time() };
            let mut user = store.set_password(user_id, new(hash.clone()), writer).await?;
            // A write that took long: until it was there, the old password got tokens that count as
            // later than what it says.
            if let Some(given) = &user
                && tokens.is_reached(given.tokens_not_before)
            {
                let owner = PasswordWriter::Owner { seen: given.tokens_not_before };
                user = store.set_password(user_id, new(hash), owner).await?.or(user);
            }
            if let Some(user) = &user {
                record(user);
                if user.username == ADMIN_USERNAME {
                    initial.remove();
                }
            }
            Ok::<_, StoreError>(user)
        });
        Ok(given.await?)
    }
}
