//! The errors of the use cases, each with one of the reasons that the contract defines.

use rolegate_auth_client::{CallError, Reason};
use rolegate_sql_store::StoreError;
use std::borrow::Cow;

/// The reason why a use case fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    /// The request is refused. `text` is the message for the caller.
    #[error("{text}")]
    Refused {
        reason: Reason,
        text: Cow<'static, str>,
    },
    /// auth-service does not respond, so no user can be authorized or named.
    #[error("auth-service is unavailable")]
    AuthUnavailable(#[source] CallError),
    /// auth-service returned an unexpected error.
    #[error("auth-service failed")]
    AuthFailed(#[source] CallError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PostError {
    pub(super) const NOT_FOUND: Self = refused(Reason::PostNotFound, "no post has this id");
    /// The post has another author, and the actor is not an admin.
    pub(super) const NOT_OWNER: Self = refused(Reason::RoleInsufficient, "another author's post");
    /// The memory for responses is used up by posts that are not yet written to their clients.
    pub(crate) const BUSY: Self = refused(Reason::Overloaded, "too many posts are being read");

    pub(super) fn invalid(rule: &'static str) -> Self {
        refused(Reason::PostInvalid, rule)
    }

    pub(super) fn request(rule: &'static str) -> Self {
        refused(Reason::RequestInvalid, rule)
    }

    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Refused { reason, .. } => *reason,
            Self::AuthUnavailable(_) => Reason::AuthUnavailable,
            Self::AuthFailed(_) => Reason::Internal,
            Self::Store(error) => error.reason(),
        }
    }
}

const fn refused(reason: Reason, text: &'static str) -> PostError {
    PostError::Refused {
        reason,
        text: Cow::Borrowed(text),
    }
}

impl From<CallError> for PostError {
    fn from(error: CallError) -> Self {
        use Reason::{
            RoleInsufficient, SecondFactorRequired, StoreUnavailable, TokenInvalid,
            TokenUserNotFound,
        };
        match error.reason() {
            Some(
                reason @ (TokenInvalid | TokenUserNotFound | RoleInsufficient
                | SecondFactorRequired | StoreUnavailable),
            ) => {
                let text = format!("rejected by auth-service: {}", reason.as_str());
                Self::Refused {
                    reason,
                    text: text.into(),
                }
            }
            None if matches!(error, CallError::Unavailable | CallError::DeadlineExceeded) => {
                Self::AuthUnavailable(error)
            }
            _ => Self::AuthFailed(error),
        }
    }
}
