//! Counts the decisions about bearers, which are those of `Authorize`.

use crate::{
    accounts::{AccountError, AuthenticatedUser, Requirement},
    actor::Actor,
    metrics,
};

/// The user of this bearer, who is counted as admitted or not.
pub(super) fn count_bearer(
    bearer: Result<Actor, AccountError>,
    requirement: &Result<Requirement, AccountError>,
) -> Result<AuthenticatedUser, AccountError> {
    metrics::count_authorization(match (&bearer, requirement) {
        (Ok(bearer), Ok(required)) if required.admits(bearer.user.role) => None,
        (Ok(bearer), Ok(required)) => Some(required.refusal(bearer.ineffective_role)),
        (Err(error), _) | (_, Err(error)) => Some(error.reason()),
    });
    bearer.map(AuthenticatedUser::from)
}
