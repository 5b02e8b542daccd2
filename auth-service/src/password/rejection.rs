//! Names the reasons why a hash may not be imported.

/// The reason why a hash may not be imported or cannot be checked. The message never quotes the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HashRejection {
    #[error(
        "is in no supported format (docs/importing-users.md lists them); import null, and reset the \
         password"
    )]
    UnknownFormat,
    #[error("is {0}, which is not supported; import null, and reset the password")]
    Unsupported(&'static str),
    #[error("is a malformed hash of {0}")]
    Malformed(&'static str),
    #[error("needs more than 256 MiB of memory to be checked")]
    TooMuchMemory,
    #[error("takes more than 10 seconds to be checked")]
    TooMuchWork,
    #[error("has the bcrypt cost {0}; 4 to 16 are allowed")]
    CostOutOfRange(u32),
    /// With such a hash in the database, the check of a wrong password of any user would take as long as a
    /// check of this hash.
    #[error(
        "has the bcrypt cost {0}, which makes every refused login as slow; --accept-slow-hashes \
         imports it"
    )]
    TooSlow(u32),
    /// An attacker could guess at such a hash more than ten times as fast as at one with OWASP's minimum.
    #[error("is below a tenth of OWASP's minimum; --accept-weak-hashes imports it")]
    TooWeak,
    #[error("needs a pepper that is not in PASSWORD_PEPPER")]
    UnknownPepper,
}
