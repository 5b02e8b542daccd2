//! What became of a change, as far as its client knows.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Not known yet, or never.
    Unknown,
    Done,
    Refused,
}
