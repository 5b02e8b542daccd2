//! Maps errors of the use cases to gRPC statuses.

use crate::posts::PostError;
use rolegate_auth_client::Reason;
use rolegate_grpc_server::error_status;
use rolegate_sql_store::StoreError;
use tonic::Status;

impl From<PostError> for Status {
    fn from(error: PostError) -> Self {
        error_status(reason_of(&error), &error, None, None)
    }
}

/// The reason in the contract.
fn reason_of(error: &PostError) -> Reason {
    match error {
        PostError::Actor(reason) => *reason,
        PostError::NotFound => Reason::PostNotFound,
        PostError::NotOwner => Reason::RoleInsufficient,
        PostError::Invalid(_) => Reason::PostInvalid,
        PostError::RequestInvalid(_) => Reason::RequestInvalid,
        PostError::Busy => Reason::Overloaded,
        PostError::AuthUnavailable(_) => Reason::AuthUnavailable,
        PostError::Store(
            StoreError::Unavailable(_) | StoreError::ConnectionLost(_) | StoreError::TimedOut,
        ) => Reason::StoreUnavailable,
        PostError::Store(StoreError::ReadOnly(_)) => Reason::StoreReadOnly,
        PostError::Store(StoreError::OutcomeUnknown) => Reason::OutcomeUnknown,
        PostError::AuthFailed(_)
        | PostError::Store(StoreError::Failed(_) | StoreError::Lost(_)) => Reason::Internal,
    }
}
