//! Changes whose commits the database has not answered. They may be made after their callers have been
//! answered, so the audit log has to name them.

use crate::{
    audit::{self, Event},
    store::{ActorError, InsertError, InsertKeyError, StoreError},
};

/// An error of a write.
pub(super) trait WriteError {
    fn is_outcome_unknown(&self) -> bool;
}

/// Passes the outcome on. If it is unknown, records the event `change` that it would be.
pub(super) fn audited<T, E: WriteError>(
    outcome: Result<T, E>,
    change: &'static str,
    actor_id: Option<i64>,
    user_id: Option<i64>,
) -> Result<T, E> {
    outcome.inspect_err(|error| {
        if error.is_outcome_unknown() {
            audit::record(Event::OutcomeUnknown { change, actor_id, user_id });
        }
    })
}

impl WriteError for StoreError {
    fn is_outcome_unknown(&self) -> bool {
        self.is_outcome_unknown()
    }
}

impl WriteError for ActorError {
    fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_outcome_unknown())
    }
}

impl WriteError for InsertKeyError {
    fn is_outcome_unknown(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_outcome_unknown())
    }
}

impl WriteError for InsertError {
    fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::Actor(error) => error.is_outcome_unknown(),
            Self::Store(error) => error.is_outcome_unknown(),
            Self::UsernameTaken => false,
        }
    }
}
