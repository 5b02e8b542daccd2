//! How a hash compares with the least that OWASP's Password Storage Cheat Sheet asks for.

use super::pbkdf2::{Pbkdf2, Prf};
use password_hash::phc::PasswordHash;

/// KiB and passes of argon2id; all rows are equivalent.
const ARGON2: [(u64, u64); 5] = [(47_104, 1), (19_456, 2), (12_288, 3), (9_216, 4), (7_168, 5)];
/// KiB (128 bytes × N × r) and parallelism of scrypt.
const SCRYPT: [(u64, u64); 5] = [(131_072, 1), (65_536, 2), (32_768, 3), (16_384, 5), (8_192, 10)];
/// Iterations of PBKDF2.
const SHA256_ITERATIONS: u64 = 600_000;
const SHA512_ITERATIONS: u64 = 220_000;

pub(super) fn argon2_percent(hash: &PasswordHash) -> u64 {
    percent(&ARGON2, parameter(hash, "m"), parameter(hash, "t"))
}

/// Expects parameters within the limits.
pub(super) fn scrypt_percent(hash: &PasswordHash) -> u64 {
    let n = 1_u64.checked_shl(parameter(hash, "ln").try_into().unwrap_or(0)).unwrap_or(0);
    percent(&SCRYPT, n.saturating_mul(parameter(hash, "r")) / 8, parameter(hash, "p"))
}

pub(super) fn pbkdf2_percent(hash: &Pbkdf2) -> u64 {
    let least = match hash.prf {
        Prf::Sha256 => SHA256_ITERATIONS,
        Prf::Sha512 => SHA512_ITERATIONS,
    };
    u64::from(hash.iterations) * 100 / least
}

/// By the best of the rows whose passes it has.
fn percent(rows: &[(u64, u64)], memory: u64, passes: u64) -> u64 {
    let reached = rows.iter().filter(|row| row.1 <= passes);
    reached.map(|(least, _)| memory.saturating_mul(100) / least).max().unwrap_or(0)
}

fn parameter(hash: &PasswordHash, name: &str) -> u64 {
    hash.params.get_decimal(name).map_or(0, u64::from)
}
