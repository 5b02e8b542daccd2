//! Whether the bearer of an access token may pass.

use super::{AccountError, Accounts};
use crate::{token::VerifiedToken, user::User};
use rolegate_proto::Role;
use std::collections::HashMap;

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

/// Somebody who presents a token, and what is required of them.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The access token.
    pub access_token: String,
    /// What is required.
    pub requirement: Requirement,
}

impl Accounts {
    /// The bearer of the token, with the role stored now. First the token is judged, then its user
    /// must exist and must not have ended it by another password, then the stored role must be
    /// allowed; the role claim of the token decides nothing.
    pub async fn authorize(
        &self,
        access_token: &str,
        requirement: &Requirement,
    ) -> Result<User, AccountError> {
        let token = self.tokens.verify(access_token)?;
        admit(self.reads.user(token.user_id).await?, token, requirement)
    }

    /// Decides for many bearers with one look-up, each as [`Self::authorize`] would. Fails as a
    /// whole only when nothing can be looked up; who is refused already stays refused.
    pub async fn authorize_batch(
        &self,
        bearers: Vec<Result<Bearer, AccountError>>,
    ) -> Result<Vec<Result<User, AccountError>>, AccountError> {
        let judged: Vec<Result<(VerifiedToken, Requirement), AccountError>> = bearers
            .into_iter()
            .map(|bearer| {
                let bearer = bearer?;
                Ok((self.tokens.verify(&bearer.access_token)?, bearer.requirement))
            })
            .collect();
        let mut ids: Vec<i64> = judged.iter().flatten().map(|(token, _)| token.user_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let users: HashMap<i64, User> = if ids.is_empty() {
            HashMap::new()
        } else {
            let found = self.store.users_by_id(&ids).await?;
            found.into_iter().map(|user| (user.id, user)).collect()
        };
        let decide = |judged: Result<(VerifiedToken, Requirement), AccountError>| {
            let (token, requirement) = judged?;
            admit(users.get(&token.user_id).cloned(), token, &requirement)
        };
        Ok(judged.into_iter().map(decide).collect())
    }

    /// The bearer of the token, who must be an admin.
    pub(super) async fn authorize_admin(&self, access_token: &str) -> Result<User, AccountError> {
        self.authorize(access_token, &Requirement::Roles(vec![Role::Admin])).await
    }
}

/// The user of a good token may pass if there still is one, if the password is still the one that
/// the token was issued for, and if the stored role is allowed.
fn admit(
    user: Option<User>,
    token: VerifiedToken,
    requirement: &Requirement,
) -> Result<User, AccountError> {
    let user = user.ok_or(AccountError::TokenUserNotFound)?;
    if token.issued < user.tokens_not_before {
        return Err(AccountError::TokenInvalid);
    }
    if requirement.admits(user.role) { Ok(user) } else { Err(AccountError::RoleInsufficient) }
}
