//! Gets the usernames of many users, for services that display authors.

use super::{AccountError, Accounts, Requirement};
use crate::user::User;
use rolegate_proto::limits::MAX_USERNAME_BATCH;

impl Accounts {
    /// The users with these ids, by ascending id, without duplicates and unknown ids. Needs no actor,
    /// because callers see only usernames; an actor that is sent must be valid.
    pub async fn usernames(
        &self,
        actor: Option<&str>,
        mut ids: Vec<i64>,
    ) -> Result<Vec<User>, AccountError> {
        if let Some(actor) = actor {
            self.authorize(actor, &Requirement::AnyAuthenticated).await?;
        }
        if ids.len() > MAX_USERNAME_BATCH {
            return Err(AccountError::RequestInvalid("ids must be at most 256"));
        }
        ids.sort_unstable();
        ids.dedup();
        match ids[..] {
            [] => Ok(Vec::new()),
            // A single lookup shares its statement with others.
            [id] => Ok(self.reads.user(id).await?.value.into_iter().collect()),
            _ => {
                let mut users = self.store.users_by_id(&ids).await?.value;
                users.sort_unstable_by_key(|user| user.id);
                Ok(users)
            }
        }
    }
}
