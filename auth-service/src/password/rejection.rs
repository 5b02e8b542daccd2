//! Why a hash may not be imported.

/// Why a hash may not be imported, or cannot be checked. Never quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HashRejection {
    #[error(
        "is in no form that is read (docs/importing-users.md has them); import null, and reset the \
         password"
    )]
    UnknownFormat,
    #[error("is {0}, which is not read; import null, and reset the password")]
    Unsupported(&'static str),
    #[error("is a malformed hash of {0}")]
    Malformed(&'static str),
    #[error("needs more than 256 MiB of memory to be checked")]
    TooMuchMemory,
    #[error("takes more than 10 seconds to be checked")]
    TooMuchWork,
    #[error("has the bcrypt cost {0}; 4 to 16 are allowed")]
    CostOutOfRange(u32),
    /// Wrong passwords of all users would take as long.
    #[error(
        "has the bcrypt cost {0}, which makes every refused login as slow; --accept-slow-hashes \
         imports it"
    )]
    TooSlow(u32),
    /// Such a hash can be guessed at more than ten times as fast as OWASP allows.
    #[error("is below a tenth of OWASP's minimum; --accept-weak-hashes imports it")]
    TooWeak,
    #[error("needs a pepper that is not in PASSWORD_PEPPER")]
    UnknownPepper,
}
