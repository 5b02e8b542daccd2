//! What a check costs, the most that it may cost, and the least that OWASP's Password Storage Cheat Sheet
//! asks for.
//!
//! Work is counted in iterations of bcrypt. The factors below are estimates for a machine whose cores each
//! do [`ITERATIONS_PER_SECOND`]; where one is wrong, admission of these checks is early or late. The engine
//! knows how fast this machine is.

use super::{super::rejection::HashRejection, pbkdf2::Pbkdf2};
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
/// OWASP's KiB and passes of argon2id; all rows are equivalent.
const ARGON2: [(u64, u64); 5] = [
    (47_104, 1),
    (19_456, 2),
    (12_288, 3),
    (9_216, 4),
    (7_168, 5),
];
/// OWASP's KiB (128 bytes × N × r) and parallelism of scrypt.
const SCRYPT: [(u64, u64); 5] = [
    (131_072, 1),
    (65_536, 2),
    (32_768, 3),
    (16_384, 5),
    (8_192, 10),
];

pub(in crate::password) struct Cost {
    /// As iterations of bcrypt, at least 1.
    pub(in crate::password) work: u64,
    /// Of OWASP's minimum.
    pub(in crate::password) percent: u64,
}

pub(super) fn argon2(hash: &PasswordHash) -> Result<Cost, HashRejection> {
    const MALFORMED: HashRejection = HashRejection::Malformed("argon2");
    match Algorithm::try_from(hash.algorithm.as_str()) {
        Ok(Algorithm::Argon2id | Algorithm::Argon2i) => {}
        _ => return Err(HashRejection::UnknownFormat),
    }
    let is_known_version = hash
        .version
        .is_none_or(|version| matches!(version, 16 | 19));
    // A hash with `keyid` needs a secret that is not here.
    let is_known = |name: &str| matches!(name, "m" | "t" | "p");
    if !is_known_version || hash.params.iter().any(|(name, _)| !is_known(name.as_str())) {
        return Err(MALFORMED);
    }
    let params = Params::try_from(hash).map_err(|_| MALFORMED)?;
    let (memory, passes) = (u64::from(params.m_cost()), u64::from(params.t_cost()));
    within(
        memory,
        memory.saturating_mul(passes) / ARGON2_KIB,
        percent(&ARGON2, memory, passes),
    )
}

pub(super) fn scrypt(hash: &PasswordHash) -> Result<Cost, HashRejection> {
    const MALFORMED: HashRejection = HashRejection::Malformed("scrypt");
    let parameter = |name| {
        hash.params
            .get_decimal(name)
            .map(u64::from)
            .ok_or(MALFORMED)
    };
    let (log_n, r, p) = (parameter("ln")?, parameter("r")?, parameter("p")?);
    if hash.version.is_some() || hash.params.iter().count() != 3 {
        return Err(MALFORMED);
    }
    // A block of 128 bytes times r for each of 2^ln and of p. Checked before the crate multiplies.
    if log_n > 31 {
        return Err(HashRejection::TooMuchMemory);
    }
    let kib = |blocks: u64| blocks.saturating_mul(r).div_ceil(8);
    let (memory, work) = (
        kib(1 << log_n).max(kib(p)),
        kib(1 << log_n).saturating_mul(p),
    );
    let percent = percent(&SCRYPT, (1_u64 << log_n).saturating_mul(r) / 8, p);
    let cost = within(memory, work / SCRYPT_KIB, percent)?;
    scrypt::Params::try_from(hash).map_err(|_| MALFORMED)?;
    Ok(cost)
}

pub(super) fn pbkdf2(hash: &Pbkdf2) -> Result<Cost, HashRejection> {
    let iterations = u64::from(hash.iterations);
    within(
        0,
        iterations * hash.blocks() / hash.prf.at_once,
        iterations * 100 / hash.prf.least,
    )
}

/// The cost, unless its work or the memory in KiB is too much.
fn within(memory: u64, work: u64, percent: u64) -> Result<Cost, HashRejection> {
    if memory > MAX_MEMORY {
        Err(HashRejection::TooMuchMemory)
    } else if work > MAX_WORK {
        Err(HashRejection::TooMuchWork)
    } else {
        Ok(Cost {
            work: work.max(1),
            percent,
        })
    }
}

/// By the best of the rows whose passes it has.
fn percent(rows: &[(u64, u64)], memory: u64, passes: u64) -> u64 {
    let reached = rows.iter().filter(|row| row.1 <= passes);
    reached
        .map(|(least, _)| memory.saturating_mul(100) / least)
        .max()
        .unwrap_or(0)
}
