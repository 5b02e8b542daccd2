//! Whether the bearer of an access token may pass.

use super::{AccountError, Accounts};
use crate::{role::Role, user::User};

/// What is required of the bearer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Any user with a good token.
    AnyAuthenticated,
    /// A user whose stored role is listed.
    Roles(Vec<Role>),
}

impl Requirement {
    fn admits(&self, role: Role) -> bool {
        match self {
            Self::AnyAuthenticated => true,
            Self::Roles(roles) => roles.contains(&role),
        }
    }
}

impl Accounts {
    /// The bearer of the token, with the role stored now. First the token is judged, then its user
    /// must exist, then the stored role must be allowed; the role claim of the token decides
    /// nothing.
    pub async fn authorize(
        &self,
        access_token: &str,
        requirement: &Requirement,
    ) -> Result<User, AccountError> {
        let id = self.tokens.judge(access_token)?;
        let user = self.reads.user(id).await?.ok_or(AccountError::TokenUserNotFound)?;
        if requirement.admits(user.role) { Ok(user) } else { Err(AccountError::RoleInsufficient) }
    }

    /// The bearer of the token, who must be an admin.
    pub(super) async fn authorize_admin(&self, access_token: &str) -> Result<User, AccountError> {
        self.authorize(access_token, &Requirement::Roles(vec![Role::Admin])).await
    }
}
