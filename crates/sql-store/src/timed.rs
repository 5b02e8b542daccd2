//! Values with the time of the database.

/// What a statement has read, and the time of the clock of the database when it began to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed<T> {
    /// In Unix seconds. Neither before the call of the read nor after the state that it has seen.
    pub at: u64,
    /// What was read.
    pub value: T,
}
