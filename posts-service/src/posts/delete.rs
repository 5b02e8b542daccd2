//! Deleting a post.

use super::{PostError, Posts, actor::target};
use secrecy::SecretString;

impl Posts {
    /// Deletes a post for good.
    pub async fn delete(&self, actor: &SecretString, id: i64) -> Result<(), PostError> {
        let target = target(&self.writer(actor).await?, id);
        if self.store.delete(target).await? { Ok(()) } else { Err(self.why_not(target).await?) }
    }
}
