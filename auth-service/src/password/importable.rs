//! Which hashes may come into the database by an import: those that a login can check.

use super::{ForeignHashError, Peppers, foreign_hash::ForeignHash};
use rolegate_bcrypt_lanes::stored_cost;

/// Costs of bcrypt. A failed check of a higher one would not take as long as a right one.
const COSTS: std::ops::RangeInclusive<u32> = 4..=16;

/// Why a hash may not be imported. Never quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashRejection {
    /// A hash of bcrypt that is malformed, or of an unknown version.
    #[error("is a malformed hash of bcrypt")]
    MalformedBcrypt,
    /// Another cost.
    #[error("has the bcrypt cost {0}; 4 to 16 are allowed")]
    Cost(u32),
    /// It starts with the id of a pepper that is not configured.
    #[error("needs a pepper that is not in PASSWORD_PEPPER")]
    UnknownPepper,
    /// Another algorithm.
    #[error(transparent)]
    Foreign(#[from] ForeignHashError),
}

impl Peppers {
    /// Whether a login could check this hash.
    pub fn check_importable(&self, hash: &str) -> Result<(), HashRejection> {
        let bcrypt = self.bcrypt_part(hash).ok_or(HashRejection::UnknownPepper)?;
        let is_peppered = bcrypt.len() < hash.len();
        if !is_peppered && !bcrypt.starts_with("$2") {
            ForeignHash::parse(bcrypt)?;
            return Ok(());
        }
        let is_known = ["$2a$", "$2b$", "$2y$"].iter().any(|prefix| bcrypt.starts_with(prefix));
        let cost = stored_cost(bcrypt).filter(|_| is_known);
        let cost = cost.ok_or(HashRejection::MalformedBcrypt)?.get();
        if COSTS.contains(&cost) { Ok(()) } else { Err(HashRejection::Cost(cost)) }
    }
}

#[cfg(test)]
mod tests {
    use super::{HashRejection, Peppers};
    use secrecy::SecretString;

    const BCRYPT: &str = "$2b$05$YaQ3M.2V9WMtoWprPyr4J.Wm9MSwt6/mER48c5Lbgp269iVDbuery";

    fn problem(hash: &str) -> Option<HashRejection> {
        Peppers::default().check_importable(hash).err()
    }

    #[test]
    fn every_sample_of_a_real_library_may_be_imported() {
        for line in include_str!("../../test-data/foreign-hashes.jsonl").lines() {
            let sample: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let hash = sample["password_hash"].as_str().expect("text");
            assert_eq!(problem(hash), None, "{}", sample["made_by"]);
        }
    }

    #[test]
    fn bcrypt_has_three_versions_and_thirteen_costs() {
        let of_cost = |cost: &str| problem(&BCRYPT.replacen("05", cost, 1));
        assert_eq!([of_cost("04"), of_cost("16")], [None, None]);
        assert_eq!(of_cost("17"), Some(HashRejection::Cost(17)));
        assert_eq!(of_cost("03"), Some(HashRejection::MalformedBcrypt));
        for hash in [&BCRYPT[..59], &BCRYPT.replacen("2b", "2x", 1), "$2b$05$", "$2"] {
            assert_eq!(problem(hash), Some(HashRejection::MalformedBcrypt), "{hash}");
        }
    }

    #[test]
    fn a_peppered_hash_needs_its_pepper() {
        let peppers = Peppers::new(&[SecretString::from("a pepper")]);
        let (scheme, _) =
            peppers.for_new(&crate::password::Password::new("x".into(), 1).expect("valid"));
        let hash = format!("{scheme}{BCRYPT}");
        assert_eq!(peppers.check_importable(&hash), Ok(()));
        assert_eq!(peppers.check_importable(BCRYPT), Ok(()));
        assert_eq!(problem(&hash), Some(HashRejection::UnknownPepper));
        let foreign = format!("{scheme}$scrypt$ln=4,r=8,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA");
        assert_eq!(peppers.check_importable(&foreign), Err(HashRejection::MalformedBcrypt));
    }
}
