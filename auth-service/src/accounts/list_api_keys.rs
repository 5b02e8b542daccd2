//! Lists the API keys of a user.

use super::{AccountError, Accounts, Requirement};
use crate::api_key::ApiKey;

impl Accounts {
    /// The keys of the actor, or of the user with this id, for an admin.
    pub async fn list_api_keys(
        &self,
        actor: &str,
        user_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, AccountError> {
        let user = match user_id {
            Some(id) => self.get_user(actor, id).await?,
            None => self.authorize(actor, &Requirement::AnyAuthenticated).await?,
        };
        Ok(self.store.keys_of_user(user.id).await?)
    }
}
