//! Authorizes the bearer of an access token.

use super::{AccountError, Accounts};
use crate::{store::StoreError, token::VerifiedToken, user::User};
use rolegate_proto::Role;
use std::collections::HashMap;

/// The roles that may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Every user with a valid token.
    AnyAuthenticated,
    /// Users whose stored role is listed.
    Roles(Vec<Role>),
}

impl Requirement {
    /// Whether a user with this role may pass.
    #[must_use]
    pub fn admits(&self, role: Role) -> bool {
        match self {
            Self::AnyAuthenticated => true,
            Self::Roles(roles) => roles.contains(&role),
        }
    }
}

/// One authorization of a batch.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The access token.
    pub access_token: String,
    /// The roles that may pass.
    pub requirement: Requirement,
}

impl Accounts {
    /// The bearer of the token, with the stored role. Checked in this order: the token is valid, its
    /// user exists and has not changed the password since, the stored role may pass. The `role`
    /// claim is ignored.
    pub async fn authorize(
        &self,
        access_token: &str,
        requirement: &Requirement,
    ) -> Result<User, AccountError> {
        let token = self.tokens.verify(access_token)?;
        admit(self.reads.user(token.user_id).await?, token, requirement)
    }

    /// [`Self::authorize`] for many bearers with one query, in the same order. Bearers that are `Err`
    /// stay so. Fails as a whole only when the query fails, and not because of one of the users.
    pub async fn authorize_batch(
        &self,
        bearers: Vec<Result<Bearer, AccountError>>,
    ) -> Result<Vec<Result<User, AccountError>>, AccountError> {
        let verify = |bearer: Result<Bearer, AccountError>| {
            let bearer = bearer?;
            Ok((self.tokens.verify(&bearer.access_token)?, bearer.requirement))
        };
        let verified: Vec<Result<_, AccountError>> = bearers.into_iter().map(verify).collect();
        let mut ids: Vec<i64> = verified.iter().flatten().map(|(token, _)| token.user_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let users = self.read_users(ids).await?;
        let admit = |verified: Result<(VerifiedToken, Requirement), _>| {
            let (token, requirement) = verified?;
            admit(users.get(&token.user_id).cloned().transpose()?, token, &requirement)
        };
        Ok(verified.into_iter().map(admit).collect())
    }

    /// The users that exist, read with one statement; each with its own, if one of them is unreadable.
    async fn read_users(
        &self,
        ids: Vec<i64>,
    ) -> Result<HashMap<i64, Result<User, StoreError>>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        match self.store.users_by_id(&ids).await {
            Ok(found) => Ok(found.into_iter().map(|user| (user.id, Ok(user))).collect()),
            Err(error) if error.is_of_data() => {
                let mut users = HashMap::new();
                for id in ids {
                    match self.reads.user(id).await {
                        Err(error) if !error.is_of_data() => return Err(error),
                        read => users.extend(read.transpose().map(|user| (id, user))),
                    }
                }
                Ok(users)
            }
            Err(error) => Err(error),
        }
    }

    /// The bearer of the token, who must have the stored role `admin`.
    pub(super) async fn authorize_admin(&self, access_token: &str) -> Result<User, AccountError> {
        self.authorize(access_token, &Requirement::Roles(vec![Role::Admin])).await
    }
}

/// Checks the stored user of a valid token.
fn admit(
    user: Option<User>,
    token: VerifiedToken,
    requirement: &Requirement,
) -> Result<User, AccountError> {
    let user = user.filter(|user| !user.disabled).ok_or(AccountError::TokenUserNotFound)?;
    if token.issued < user.tokens_not_before {
        return Err(AccountError::TokenInvalid);
    }
    if requirement.admits(user.role) { Ok(user) } else { Err(AccountError::RoleInsufficient) }
}
