//! Manages the credentials of users: passwords, password links, second factors, API keys and
//! sessions.

pub(super) mod opaque_tokens;
pub(super) mod password_links;
mod passwords;
pub(super) mod second_factor;
mod sessions;
mod sign_out;

use super::{error::AccountError, requirement::Requirement, service::Accounts};
use crate::{change::Change, principal::Principal, user::User};
use rolegate_proto::Reason;

impl Accounts {
    /// Makes a change of one user, and returns the user as the change has left it. If the user has
    /// changed since the credential was authorized, the credential is authorized again, and the error
    /// is `otherwise` if it is still valid: see `Authorizer::reauthorize_if_changed`.
    pub(super) async fn change_or_reauthorize(
        &self,
        credential: &str,
        by: Principal,
        change: Change,
        otherwise: Reason,
    ) -> Result<User, AccountError> {
        let requirement = Requirement::to_act_on(by.admin_id());
        let changed = self.changes.apply(by, change).await;
        self.authorizer
            .reauthorize_if_changed(changed, credential, &requirement, otherwise)
            .await
    }
}
