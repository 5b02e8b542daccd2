//! What a check costs, and the most that it may cost.
//!
//! The engine counts in iterations of bcrypt, so the factors below are relative to it. They are
//! estimates for a machine whose cores each do [`ITERATIONS_PER_SECOND`]; where one is wrong, admission
//! of these checks is early or late. The engine knows how fast this machine is.

use super::pbkdf2::{Pbkdf2, Prf};
use argon2::{Algorithm, Params};
use password_hash::phc::PasswordHash;

/// Iterations of bcrypt that all lanes of one thread do in a second.
const ITERATIONS_PER_SECOND: u64 = 65_536;
/// The most work of a check: ten seconds.
const MAX_WORK: u64 = 10 * ITERATIONS_PER_SECOND;
/// The most memory of a check, in KiB: 256 MiB.
const MAX_MEMORY: u64 = 256 * 1024;

/// KiB that argon2 fills in the time of one iteration.
const ARGON2_KIB: u64 = 16;
/// KiB that scrypt fills and reads again in the time of one iteration.
const SCRYPT_KIB: u64 = 6;
/// Iterations of PBKDF2-SHA256 in the time of one iteration; fewer where the processor has no
/// instructions for SHA-256.
const PBKDF2_SHA256_ITERATIONS: u64 = 12;
/// The same of PBKDF2-SHA512, for which most processors have none.
const PBKDF2_SHA512_ITERATIONS: u64 = 4;

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

pub(super) fn argon2_work(hash: &PasswordHash) -> Result<u64, ForeignHashError> {
    const MALFORMED: ForeignHashError = ForeignHashError::Malformed("argon2");
    match Algorithm::try_from(hash.algorithm.as_str()) {
        Ok(Algorithm::Argon2id | Algorithm::Argon2i) => {}
        _ => return Err(ForeignHashError::UnknownFormat),
    }
    let is_known_version = hash.version.is_none_or(|version| matches!(version, 16 | 19));
    // A hash with `keyid` needs a secret that is not here.
    let is_known = |name: &str| matches!(name, "m" | "t" | "p");
    if !is_known_version || hash.params.iter().any(|(name, _)| !is_known(name.as_str())) {
        return Err(MALFORMED);
    }
    let params = Params::try_from(hash).map_err(|_| MALFORMED)?;
    let memory = u64::from(params.m_cost());
    within(memory, memory.saturating_mul(params.t_cost().into()) / ARGON2_KIB)
}

pub(super) fn scrypt_work(hash: &PasswordHash) -> Result<u64, ForeignHashError> {
    const MALFORMED: ForeignHashError = ForeignHashError::Malformed("scrypt");
    let parameter = |name| hash.params.get_decimal(name).map(u64::from).ok_or(MALFORMED);
    let (log_n, r, p) = (parameter("ln")?, parameter("r")?, parameter("p")?);
    if hash.version.is_some() || hash.params.iter().count() != 3 {
        return Err(MALFORMED);
    }
    // A block of 128 bytes times r for each of 2^ln and of p. Checked before the crate multiplies.
    if log_n > 31 {
        return Err(ForeignHashError::TooMuchMemory);
    }
    let kib = |blocks: u64| blocks.saturating_mul(r).div_ceil(8);
    let memory = kib(1 << log_n).max(kib(p));
    let work = within(memory, kib(1 << log_n).saturating_mul(p) / SCRYPT_KIB)?;
    scrypt::Params::try_from(hash).map_err(|_| MALFORMED)?;
    Ok(work)
}

pub(super) fn pbkdf2_work(hash: &Pbkdf2) -> Result<u64, ForeignHashError> {
    let at_once = match hash.prf {
        Prf::Sha256 => PBKDF2_SHA256_ITERATIONS,
        Prf::Sha512 => PBKDF2_SHA512_ITERATIONS,
    };
    within(0, u64::from(hash.iterations) * hash.blocks() / at_once)
}

/// The work, unless it or the memory in KiB is too much.
fn within(memory: u64, work: u64) -> Result<u64, ForeignHashError> {
    if memory > MAX_MEMORY {
        Err(ForeignHashError::TooMuchMemory)
    } else if work > MAX_WORK {
        Err(ForeignHashError::TooMuchWork)
    } else {
        Ok(work.max(1))
    }
}
