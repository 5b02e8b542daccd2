//! Why a hash cannot be checked.

/// Why a hash cannot be checked. Never quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForeignHashError {
    /// Not a hash of a known algorithm.
    #[error(
        "is in no form that is read (docs/importing-users.md has them); import null, and reset the \
         password"
    )]
    UnknownFormat,
    /// The algorithm is known and not implemented here.
    #[error("is {0}, which is not read; import null, and reset the password")]
    Unread(&'static str),
    /// The algorithm is known, the rest is not in its format.
    #[error("is a malformed hash of {0}")]
    Malformed(&'static str),
    /// Too much memory.
    #[error("needs more than 256 MiB of memory to be checked")]
    TooMuchMemory,
    /// Too much time.
    #[error("takes more than 10 seconds to be checked")]
    TooMuchWork,
}
