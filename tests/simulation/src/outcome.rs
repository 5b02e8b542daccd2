//! The outcome of a change, as far as the client knows it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The change has not been answered, or the answer does not say whether it was made.
    Unknown,
    Done,
    Refused,
}
