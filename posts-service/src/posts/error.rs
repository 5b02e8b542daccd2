//! Errors of the use cases.

use crate::post::PostContentError;
use rolegate_auth_client::{CallError, Reason};
use rolegate_sql_store::StoreError;

/// Why a use case failed.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// auth-service rejects the actor.
    #[error("rejected by auth-service: {}", .0.as_str())]
    Actor(Reason),
    /// No post has this id.
    #[error("no post has this id")]
    NotFound,
    /// The post belongs to another author, and the actor is not an admin.
    #[error("another author's post")]
    NotOwner,
    /// The title or the content is invalid.
    #[error("{0}")]
    Invalid(#[from] PostContentError),
    /// The request is invalid.
    #[error("{0}")]
    RequestInvalid(&'static str),
    /// auth-service does not respond, so nothing is authorized.
    #[error("auth-service is unavailable")]
    AuthUnavailable(#[source] CallError),
    /// auth-service returned an unexpected error.
    #[error("auth-service failed")]
    AuthFailed(#[source] CallError),
    /// Too many posts are in responses that are not written yet.
    #[error("too many posts are being read")]
    Busy,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CallError> for PostError {
    fn from(error: CallError) -> Self {
        use Reason::{RoleInsufficient, StoreUnavailable, TokenInvalid, TokenUserNotFound};
        match (error.reason(), &error) {
            (Some(of @ (TokenInvalid | TokenUserNotFound | RoleInsufficient)), _) => {
                Self::Actor(of)
            }
            (Some(StoreUnavailable), _) => Self::Actor(StoreUnavailable),
            (None, CallError::Unavailable | CallError::DeadlineExceeded) => {
                Self::AuthUnavailable(error)
            }
            _ => Self::AuthFailed(error),
        }
    }
}
