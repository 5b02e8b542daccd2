//! Decides which hashes `user import` accepts: those that a login can check, within the limits on cost and
//! strength.

use super::{
    foreign_hash::{ForeignHash, translate},
    hasher::NO_PASSWORD,
    pepper::Peppers,
    rejection::HashRejection,
};
use rolegate_bcrypt_lanes::stored_cost;
use std::{borrow::Cow, ops::RangeInclusive};

/// The bcrypt costs that are accepted. A higher cost would reveal that the user exists, because failed checks
/// do at most the work of cost 16.
const COSTS: RangeInclusive<u32> = 4..=16;
/// The maximum bcrypt cost that is accepted without `--accept-slow-hashes`, unless new hashes have a higher cost.
/// A hash with a higher cost would slow down every refused login.
const MAX_COST: u32 = 14;
/// The minimum bcrypt cost of OWASP's Password Storage Cheat Sheet.
const MIN_COST: u32 = 10;
/// The minimum strength that is accepted without `--accept-weak-hashes`, as a percentage of OWASP's minimum.
const MIN_PERCENT: u64 = 10;

/// Says which slow or weak hashes an import accepts, because the operator has set a flag for them.
#[derive(Clone, Copy, Default)]
pub(crate) struct HashExceptions {
    /// True to accept bcrypt hashes whose cost is above both 14 and the cost of new hashes.
    pub(crate) slow: bool,
    /// True to accept hashes below a tenth of OWASP's minimum.
    pub(crate) weak: bool,
}

/// The limits that an import checks in addition to those of [`ForeignHash`].
#[derive(Clone, Copy)]
pub(crate) struct HashRules {
    max_cost: u32,
    min_percent: u64,
}

impl HashRules {
    /// Creates the limits for these exceptions. `bcrypt_cost` is the cost of new hashes.
    pub(crate) fn new(bcrypt_cost: u32, accepted: HashExceptions) -> Self {
        Self {
            max_cost: if accepted.slow {
                *COSTS.end()
            } else {
                bcrypt_cost.max(MAX_COST)
            },
            min_percent: if accepted.weak { 0 } else { MIN_PERCENT },
        }
    }

    /// Translates a hash into its stored format. Returns an error if no login could check it, or if the limits
    /// forbid it.
    pub(crate) fn translate<'h>(
        &self,
        hash: &'h str,
        peppers: &Peppers,
    ) -> Result<Cow<'h, str>, HashRejection> {
        let stored = translate(hash)?;
        let bcrypt = peppers
            .bcrypt_part(&stored)
            .ok_or(HashRejection::UnknownPepper)?;
        let has_scheme = bcrypt.len() < stored.len();
        if has_scheme || bcrypt.starts_with("$2") {
            self.check_bcrypt(bcrypt)?;
        } else {
            ForeignHash::parse(bcrypt)?;
        }
        if percent_of_minimum(&stored).is_some_and(|percent| percent < self.min_percent) {
            return Err(HashRejection::TooWeak);
        }
        Ok(stored)
    }

    fn check_bcrypt(&self, hash: &str) -> Result<(), HashRejection> {
        const MALFORMED: HashRejection = HashRejection::Malformed("bcrypt");
        let is_known_version = ["$2a$", "$2b$", "$2y$"]
            .iter()
            .any(|prefix| hash.starts_with(prefix));
        if !is_known_version {
            return Err(MALFORMED);
        }
        let cost = stored_cost(hash).ok_or(MALFORMED)?.get();
        if !COSTS.contains(&cost) {
            return Err(HashRejection::CostOutOfRange(cost));
        }
        if cost > self.max_cost {
            return Err(HashRejection::TooSlow(cost));
        }
        Ok(())
    }
}

/// Returns the strength of a stored hash as a percentage of OWASP's minimum; `None` if the hash cannot be
/// checked.
fn percent_of_minimum(stored: &str) -> Option<u64> {
    // A stored bcrypt hash may have a prefix: `$wp`, or the id of a pepper.
    let bcrypt_cost = stored
        .find("$2")
        .and_then(|start| stored_cost(&stored[start..]));
    match bcrypt_cost {
        Some(cost) => Some((100 << cost.get()) >> MIN_COST),
        None => Some(ForeignHash::parse(stored).ok()?.cost.percent),
    }
}

/// Counts the stored hashes that an operator should know about: weak and missing ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HashCounts {
    weak: u64,
    missing: u64,
}

impl HashCounts {
    pub(crate) fn add(&mut self, stored: &str) {
        if stored == NO_PASSWORD {
            self.missing += 1;
        } else if percent_of_minimum(stored).is_some_and(|percent| percent < 100) {
            self.weak += 1;
        }
    }

    /// Describes the counts that are not zero, one sentence each.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let Self { weak, missing } = self;
        let mut sentences = Vec::new();
        if *weak > 0 {
            sentences.push(format!(
                "{weak} password hashes are below OWASP's minimum; each is replaced at the next login."
            ));
        }
        if *missing > 0 {
            sentences.push(format!(
                "{missing} users have no password; user reset-password gives them one."
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests;
