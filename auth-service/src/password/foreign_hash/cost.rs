//! Estimates the cost of a check, and compares it with two limits: the maximum cost of a check, and the minimum
//! strength in OWASP's Password Storage Cheat Sheet.
//!
//! Work is counted in bcrypt iterations. The factors below are estimates for a machine on which the lanes of
//! one thread do [`ITERATIONS_PER_SECOND`]; the engine knows how fast the actual machine is. If a factor is
//! wrong, these checks are refused too early or too late.

use super::pbkdf2::Pbkdf2;
use crate::password::rejection::HashRejection;
use argon2::{Algorithm, Params};
use password_hash::phc::PasswordHash;

/// The number of bcrypt iterations that all lanes of one thread do in a second.
const ITERATIONS_PER_SECOND: u64 = 65_536;
/// The maximum work of a check, in bcrypt iterations. A thread of the assumed machine does it in ten seconds.
const MAX_WORK: u64 = 10 * ITERATIONS_PER_SECOND;
/// The maximum memory of a check, in KiB: 256 MiB.
const MAX_MEMORY_KIB: u64 = 256 * 1024;

/// The number of KiB that argon2 fills in the time of one bcrypt iteration.
const ARGON2_KIB_PER_ITERATION: u64 = 16;
/// The number of KiB that scrypt fills and reads again in the time of one bcrypt iteration.
const SCRYPT_KIB_PER_ITERATION: u64 = 6;

/// A row in OWASP's table of minimum parameters. All rows of an algorithm are equivalent.
struct Minimum {
    memory_kib: u64,
    /// The number of passes of argon2, or the parallelism of scrypt.
    passes: u64,
}

const fn minimum(memory_kib: u64, passes: u64) -> Minimum {
    Minimum { memory_kib, passes }
}

/// OWASP's minimum parameters of argon2id.
const ARGON2_MINIMUMS: [Minimum; 5] = [
    minimum(47_104, 1),
    minimum(19_456, 2),
    minimum(12_288, 3),
    minimum(9_216, 4),
    minimum(7_168, 5),
];
/// OWASP's minimum parameters of scrypt, whose memory is 128 bytes × N × r.
const SCRYPT_MINIMUMS: [Minimum; 5] = [
    minimum(131_072, 1),
    minimum(65_536, 2),
    minimum(32_768, 3),
    minimum(16_384, 5),
    minimum(8_192, 10),
];

/// The cost of checking a hash, and the strength of the hash.
pub(crate) struct Cost {
    memory_kib: u64,
    /// The work in bcrypt iterations, at least 1.
    pub(crate) work: u64,
    /// The strength of the hash as a percentage of OWASP's minimum.
    pub(crate) percent: u64,
}

impl Cost {
    /// Returns an error if the check needs too much work or memory. Work below one iteration counts as one.
    fn check_limits(self) -> Result<Self, HashRejection> {
        if self.memory_kib > MAX_MEMORY_KIB {
            return Err(HashRejection::TooMuchMemory);
        }
        if self.work > MAX_WORK {
            return Err(HashRejection::TooMuchWork);
        }
        Ok(Self {
            work: self.work.max(1),
            ..self
        })
    }
}

pub(super) fn argon2_cost(hash: &PasswordHash) -> Result<Cost, HashRejection> {
    const MALFORMED: HashRejection = HashRejection::Malformed("argon2");
    match Algorithm::try_from(hash.algorithm.as_str()) {
        Ok(Algorithm::Argon2id | Algorithm::Argon2i) => {}
        _ => return Err(HashRejection::UnknownFormat),
    }
    let is_known_version = matches!(hash.version, None | Some(16 | 19));
    // A hash with any other parameter is refused. One with `keyid`, for example, needs a secret that is not
    // known here.
    let is_known = |name: &str| matches!(name, "m" | "t" | "p");
    if !is_known_version || hash.params.iter().any(|(name, _)| !is_known(name.as_str())) {
        return Err(MALFORMED);
    }
    let params = Params::try_from(hash).map_err(|_| MALFORMED)?;
    let memory_kib = u64::from(params.m_cost());
    let passes = u64::from(params.t_cost());
    let cost = Cost {
        memory_kib,
        work: memory_kib.saturating_mul(passes) / ARGON2_KIB_PER_ITERATION,
        percent: percent_of(&ARGON2_MINIMUMS, memory_kib, passes),
    };
    cost.check_limits()
}

pub(super) fn scrypt_cost(hash: &PasswordHash) -> Result<Cost, HashRejection> {
    const MALFORMED: HashRejection = HashRejection::Malformed("scrypt");
    let parameter = |name| {
        let value = hash.params.get_decimal(name).ok_or(MALFORMED)?;
        Ok(u64::from(value))
    };
    let log_n = parameter("ln")?;
    let r = parameter("r")?;
    let p = parameter("p")?;
    if hash.version.is_some() || hash.params.iter().count() != 3 {
        return Err(MALFORMED);
    }
    // Without this check, the shift below could overflow. All limits are checked before
    // `scrypt::Params::try_from`, which multiplies `r` and `p` without a check for overflow.
    if log_n > 31 {
        return Err(HashRejection::TooMuchMemory);
    }
    // A block has 128 × r bytes. scrypt needs 2^ln blocks and p blocks, of which only the larger number is
    // counted.
    let kib = |blocks: u64| blocks.saturating_mul(r).div_ceil(8);
    let cost = Cost {
        memory_kib: kib(1 << log_n).max(kib(p)),
        work: kib(1 << log_n).saturating_mul(p) / SCRYPT_KIB_PER_ITERATION,
        percent: percent_of(&SCRYPT_MINIMUMS, (1_u64 << log_n).saturating_mul(r) / 8, p),
    };
    let cost = cost.check_limits()?;
    scrypt::Params::try_from(hash).map_err(|_| MALFORMED)?;
    Ok(cost)
}

pub(super) fn pbkdf2_cost(hash: &Pbkdf2) -> Result<Cost, HashRejection> {
    let iterations = u64::from(hash.iterations);
    let cost = Cost {
        memory_kib: 0,
        work: iterations * hash.blocks() / hash.prf.iterations_per_bcrypt_iteration,
        percent: iterations * 100 / hash.prf.min_iterations,
    };
    cost.check_limits()
}

/// Returns the strength as a percentage of OWASP's minimum. Of the rows with at most as many passes as the
/// hash, the one that gives the highest percentage counts.
fn percent_of(minimums: &[Minimum], memory_kib: u64, passes: u64) -> u64 {
    minimums
        .iter()
        .filter(|minimum| minimum.passes <= passes)
        .map(|minimum| memory_kib.saturating_mul(100) / minimum.memory_kib)
        .max()
        .unwrap_or(0)
}
