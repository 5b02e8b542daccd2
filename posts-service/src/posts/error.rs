//! Every way in which a use case can end without success.

use super::PostContentError;
use rolegate_auth_client::{CallError, Reason};
use rolegate_sql_store::StoreError;

/// Why a use case did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// auth-service refuses the actor, for this reason.
    #[error("refused by auth-service: {}", .0.as_str())]
    Actor(Reason),
    /// No post has this id.
    #[error("no post has this id")]
    NotFound,
    /// The post is another author's, and the actor is no admin.
    #[error("another author's post")]
    NotOwner,
    /// The title or the content breaks this rule.
    #[error("{0}")]
    Invalid(#[from] PostContentError),
    /// The request is out of bounds.
    #[error("{0}")]
    RequestInvalid(&'static str),
    /// auth-service cannot be asked: nothing is decided.
    #[error("auth-service cannot be asked")]
    AuthUnavailable(#[source] CallError),
    /// auth-service answered what it should not answer to us.
    #[error("auth-service failed")]
    AuthFailed(#[source] CallError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CallError> for PostError {
    fn from(error: CallError) -> Self {
        match (error.reason(), &error) {
            (
                Some(
                    reason @ (Reason::TokenInvalid
                    | Reason::TokenUserNotFound
                    | Reason::RoleInsufficient
                    | Reason::StoreUnavailable),
                ),
                _,
            ) => Self::Actor(reason),
            (None, CallError::Unavailable | CallError::DeadlineExceeded) => {
                Self::AuthUnavailable(error)
            }
            _ => Self::AuthFailed(error),
        }
    }
}
