//! Replaces a password, for its owner or an admin.

use super::{ADMIN_USERNAME, AccountError, Accounts, unknown_outcome::audited};
use crate::{
    password::Password,
    request_origin::RequestOrigin,
    store::{PasswordWriter, StoreError},
    user::{MAX_STEP_SECONDS, User},
};
use rolegate_telemetry::request_context::RequestContext;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

impl Accounts {
    /// Replaces the password of a user, revokes the user's tokens and calls `record`. Cache entries
    /// of the old hash no longer match. `None` when the condition of `writer` no longer holds.
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
        let replaced = RequestContext::run_to_completion(async move {
            let began = Instant::now();
            let written = store.set_password(user_id, hash.clone(), writer).await;
            let is_owner = writer.admin().is_none();
            let change = if is_owner { "password_changed" } else { "password_set" };
            let mut user = audited(written, change, writer.admin(), Some(user_id))?;
            // A slow write: until it was done, logins with the old password may have been issued
            // tokens later than its revocation time.
            if let Some(written) = &user
                && began.elapsed() >= Duration::from_secs(MAX_STEP_SECONDS)
            {
                let owner = PasswordWriter::Owner { seen: written.tokens_not_before };
                user = store.set_password(user_id, hash, owner).await?.or(user);
            }
            if let Some(user) = &user {
                record(user);
                if user.username == ADMIN_USERNAME {
                    initial.remove();
                }
            }
            Ok::<_, StoreError>(user)
        });
        Ok(replaced.await?)
    }
}
