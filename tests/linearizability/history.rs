//! Checks reads against the history of changes.

use std::time::Instant;

/// A change of a user's role.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Before it was sent.
    pub(crate) began: Instant,
    /// When it was acknowledged.
    pub(crate) acknowledged: Instant,
    pub(crate) role: &'static str,
}

/// A role that a reader received.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) role: String,
}

/// The number of checked reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// No change was in flight: one role was valid.
    pub(crate) unambiguous: usize,
    /// A change was in flight: the roles before and after it were valid.
    pub(crate) concurrent: usize,
}

/// Checks the reads of one user against the changes of that user, which are in order and do not
/// overlap. The error describes the first stale read.
pub(crate) fn check(changes: &[Change], reads: &[Read]) -> Result<Checked, String> {
    let mut checked = Checked::default();
    for read in reads {
        // The last change acknowledged before the read began, and all that overlap the read.
        let settled = changes.partition_point(|change| change.acknowledged <= read.began);
        let begun = changes.partition_point(|change| change.began < read.ended);
        let valid = &changes[settled.saturating_sub(1)..begun];
        if !valid.iter().any(|change| change.role == read.role) {
            return Err(format!("{read:?} is none of {valid:?}"));
        }
        match valid {
            [_] => checked.unambiguous += 1,
            _ => checked.concurrent += 1,
        }
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::{Change, Checked, Read, check};
    use std::time::{Duration, Instant};

    /// A user is created at 0 to 10, becomes author at 20 to 30 and admin at 40 to 50.
    fn checked(began: u64, ended: u64, role: &str) -> Result<Checked, String> {
        let start = Instant::now();
        let at = |millisecond| start + Duration::from_millis(millisecond);
        let change = |began, acknowledged, role| Change {
            began: at(began),
            acknowledged: at(acknowledged),
            role,
        };
        let changes = [change(0, 10, "user"), change(20, 30, "author"), change(40, 50, "admin")];
        check(&changes, &[Read { began: at(began), ended: at(ended), role: role.to_owned() }])
    }

    #[test]
    fn read_between_changes_has_one_valid_role() {
        let unambiguous = Ok(Checked { unambiguous: 1, concurrent: 0 });
        assert_eq!(checked(31, 35, "author"), unambiguous);
        assert_eq!(checked(51, 99, "admin"), unambiguous);
        assert!(checked(31, 35, "user").is_err(), "stale");
        assert!(checked(51, 99, "author").is_err(), "stale");
        assert!(checked(31, 35, "admin").is_err(), "from the future");
    }

    #[test]
    fn read_concurrent_with_a_change_may_see_either_role() {
        let either = Ok(Checked { unambiguous: 0, concurrent: 1 });
        assert_eq!(checked(35, 45, "author"), either);
        assert_eq!(checked(35, 45, "admin"), either);
        assert!(checked(35, 45, "user").is_err());
        assert_eq!(checked(15, 60, "user"), either);
    }
}
