//! Limits how much is added to a user in a minute, because additions fill the record. Each new API key, session and
//! second-factor enrollment adds a row to the record, and its end adds another. Without this limit, a client that
//! creates and deletes keys in a loop could fill the record.
//!
//! Turning on a second factor and using a recovery code also add a row each. They count as additions, but this limit
//! never refuses them.

use super::WriteError;
use rolegate_sql_store::row;
use std::time::Duration;

/// The maximum number of additions to a user in [`ADDITION_SECONDS`], of all kinds together and by all replicas.
/// Together with the end of each addition, they add 280 rows to the record.
pub(crate) const MAX_ADDITIONS: i64 = 140;
pub(crate) const ADDITION_SECONDS: i64 = 60;

row! {
    /// The recent additions to a user, as the database counts them.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Additions {
        /// The number of additions. When it is read to explain a refusal, it may include additions that have just
        /// stopped counting.
        pub(crate) count: i64,
        /// The age, in seconds, of the oldest addition that still counts; `None` if none counts.
        pub(crate) age_of_first: Option<i64>,
    }
}

impl Additions {
    /// Fails with [`WriteError::TooManyAdditions`] if `added` more additions would exceed the limit. Its `retry_after`
    /// is the time until the oldest addition stops counting, and at least a second.
    pub(crate) fn check(self, added: usize) -> Result<(), WriteError> {
        let added = i64::try_from(added).unwrap_or(MAX_ADDITIONS);
        if self.count.saturating_add(added) <= MAX_ADDITIONS {
            return Ok(());
        }
        let seconds = ADDITION_SECONDS - self.age_of_first.unwrap_or(ADDITION_SECONDS);
        let seconds = seconds.clamp(1, ADDITION_SECONDS).unsigned_abs();
        Err(WriteError::TooManyAdditions {
            retry_after: Duration::from_secs(seconds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Additions, MAX_ADDITIONS};
    use crate::store::WriteError;
    use std::time::Duration;

    #[test]
    fn an_addition_over_the_limit_waits_until_the_first_is_a_minute_old() {
        let check = |count, age_of_first| {
            let additions = Additions {
                count,
                age_of_first,
            };
            match additions.check(1) {
                Ok(()) => None,
                Err(WriteError::TooManyAdditions { retry_after }) => Some(retry_after),
                Err(error) => panic!("{error}"),
            }
        };
        let full = |age| check(MAX_ADDITIONS, Some(age)).expect("refused");
        assert_eq!(check(0, None), None);
        assert_eq!(check(MAX_ADDITIONS - 1, Some(59)), None);
        assert_eq!(full(0), Duration::from_mins(1));
        assert_eq!(full(45), Duration::from_secs(15));
        assert_eq!(full(60), Duration::from_secs(1));
        assert!(check(MAX_ADDITIONS + 50, Some(1)).is_some());
        let passed = check(MAX_ADDITIONS, None);
        assert_eq!(passed, Some(Duration::from_secs(1)));
        let last = Additions {
            count: MAX_ADDITIONS - 1,
            age_of_first: Some(1),
        };
        assert!(last.check(1).is_ok() && last.check(2).is_err());
    }
}
