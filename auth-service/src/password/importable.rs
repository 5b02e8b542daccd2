//! Which hashes may come into the database by an import: those that a login can check.

use super::{
    foreign_hash::{ForeignHash, translate},
    pepper::Peppers,
    rejection::HashRejection,
};
use rolegate_bcrypt_lanes::stored_cost;
use std::borrow::Cow;

/// Costs of bcrypt. A failed check of a higher one would not take as long as a right one.
const COSTS: std::ops::RangeInclusive<u32> = 4..=16;
/// The highest cost that may slow down every refusal without being asked for.
const MAX_COST: u32 = 14;
/// The least cost by OWASP's Password Storage Cheat Sheet.
const MIN_COST: u32 = 10;
/// Hashes below a tenth of OWASP's minimum have to be asked for.
const MIN_PERCENT: u64 = 10;

/// What is stored for a user without a password: no password matches it.
pub(crate) const NO_PASSWORD: &str = "!";

/// What an import accepts beyond what is good for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashRules {
    max_cost: u32,
    min_percent: u64,
}

impl HashRules {
    /// With new hashes of `bcrypt_cost`. `slow`: bcrypt above 14 and that cost; `weak`: hashes below a
    /// tenth of OWASP's minimum.
    pub(crate) fn new(bcrypt_cost: u32, slow: bool, weak: bool) -> Self {
        Self {
            max_cost: if slow {
                *COSTS.end()
            } else {
                bcrypt_cost.max(MAX_COST)
            },
            min_percent: if weak { 0 } else { MIN_PERCENT },
        }
    }
}

impl Peppers {
    /// The form to store of a hash, if a login could check it.
    pub(crate) fn importable<'h>(
        &self,
        hash: &'h str,
        rules: HashRules,
    ) -> Result<Cow<'h, str>, HashRejection> {
        let stored = translate(hash)?;
        let bcrypt = self
            .bcrypt_part(&stored)
            .ok_or(HashRejection::UnknownPepper)?;
        if bcrypt.len() < stored.len() || bcrypt.starts_with("$2") {
            let is_known = ["$2a$", "$2b$", "$2y$"]
                .iter()
                .any(|prefix| bcrypt.starts_with(prefix));
            let cost = stored_cost(bcrypt).filter(|_| is_known);
            let cost = cost.ok_or(HashRejection::Malformed("bcrypt"))?.get();
            if !COSTS.contains(&cost) {
                return Err(HashRejection::Cost(cost));
            }
            if cost > rules.max_cost {
                return Err(HashRejection::TooSlow(cost));
            }
        } else {
            ForeignHash::parse(bcrypt)?;
        }
        if percent_of_minimum(&stored).is_some_and(|percent| percent < rules.min_percent) {
            return Err(HashRejection::TooWeak);
        }
        Ok(stored)
    }
}

/// How a stored hash compares with OWASP's minimum; `None` if it cannot be checked.
fn percent_of_minimum(stored: &str) -> Option<u64> {
    // A hash of bcrypt ends the text; `$wp` or the name of a pepper may precede it.
    let bcrypt = stored
        .find("$2")
        .and_then(|at| stored_cost(stored.get(at..)?));
    match bcrypt {
        Some(cost) => Some((100 << cost.get()) >> MIN_COST),
        None => ForeignHash::parse(stored)
            .ok()
            .map(|hash| hash.cost.percent),
    }
}

/// Stored hashes that an operator should know of.
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

    /// The counts that are not zero, as sentences.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let weak = "password hashes are below OWASP's minimum; each is replaced at the next login.";
        let missing = "users have no password; user reset-password gives them one.";
        let all = [(self.weak, weak), (self.missing, missing)];
        let counted = all.into_iter().filter(|(count, _)| *count > 0);
        counted
            .map(|(count, text)| format!("{count} {text}"))
            .collect()
    }
}

#[cfg(test)]
mod tests;
