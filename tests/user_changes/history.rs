//! The history: what the writers did.

use std::{collections::BTreeMap, sync::Mutex, time::Instant};

/// A user as other services keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) username: String,
    pub(crate) role: String,
    pub(crate) disabled: bool,
    pub(crate) deleted: bool,
}

/// The user or operator who made a change, as the record names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// An admin, who used an API key or a session. Each is an id.
    Admin {
        id: i64,
        key: Option<i64>,
        session: Option<i64>,
    },
    /// The user who is changed.
    Owner,
    Operator,
}

/// A change that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// A moment before the change was sent.
    pub(crate) began: Instant,
    /// When the change was acknowledged. `None` if it may or may not have happened, and then it is
    /// the user's last one.
    pub(crate) acknowledged: Option<Instant>,
    /// The user after the change.
    pub(crate) state: State,
    pub(crate) event: &'static str,
    pub(crate) actor: Actor,
}

/// The changes of each user in their order, by username. No name is used twice.
pub(crate) type Attempts = BTreeMap<String, Vec<Attempt>>;

/// The history so far, which all writers share.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Attempts>);

impl History {
    pub(crate) fn add(&self, attempt: Attempt) {
        let mut attempts = self.0.lock().expect("no holder panicked");
        attempts
            .entry(attempt.state.username.clone())
            .or_default()
            .push(attempt);
    }

    pub(crate) fn attempts(&self) -> Attempts {
        self.0.lock().expect("no holder panicked").clone()
    }
}
