//! What was written, what was read, and whether they fit.

use std::time::Instant;

/// A change of a user's role, by whatever way.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Before it was asked for.
    pub(crate) began: Instant,
    /// When it was acknowledged.
    pub(crate) acknowledged: Instant,
    pub(crate) role: &'static str,
}

/// A role that somebody was told.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) role: String,
}

/// How many reads were held against the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    /// No change was under way: only one role was right.
    pub(crate) certain: usize,
    /// A change was under way: the roles before and after it were both right.
    pub(crate) beside_a_change: usize,
}

/// Holds every read of one user against the changes of that user, which are in order and do not
/// overlap. The error is the first read that could not have been told what it was told.
pub(crate) fn judge(changes: &[Change], reads: &[Read]) -> Result<Judged, String> {
    let mut judged = Judged::default();
    for read in reads {
        // The last change that was acknowledged before the read began, and every one that was under
        // way while it was.
        let settled = changes.partition_point(|change| change.acknowledged <= read.began);
        let begun = changes.partition_point(|change| change.began < read.ended);
        let right = &changes[settled.saturating_sub(1)..begun];
        if !right.iter().any(|change| change.role == read.role) {
            return Err(format!("{read:?} is none of {right:?}"));
        }
        match right {
            [_] => judged.certain += 1,
            _ => judged.beside_a_change += 1,
        }
    }
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use super::{Change, Judged, Read, judge};
    use std::time::{Duration, Instant};

    /// A user is made at 0 to 10, changed to author at 20 to 30 and to admin at 40 to 50.
    fn judged(began: u64, ended: u64, role: &str) -> Result<Judged, String> {
        let start = Instant::now();
        let at = |millisecond| start + Duration::from_millis(millisecond);
        let change = |began, acknowledged, role| Change {
            began: at(began),
            acknowledged: at(acknowledged),
            role,
        };
        let changes = [change(0, 10, "user"), change(20, 30, "author"), change(40, 50, "admin")];
        judge(&changes, &[Read { began: at(began), ended: at(ended), role: role.to_owned() }])
    }

    #[test]
    fn read_between_changes_has_one_valid_role() {
        let certain = Ok(Judged { certain: 1, beside_a_change: 0 });
        assert_eq!(judged(31, 35, "author"), certain);
        assert_eq!(judged(51, 99, "admin"), certain);
        assert!(judged(31, 35, "user").is_err(), "stale");
        assert!(judged(51, 99, "author").is_err(), "stale");
        assert!(judged(31, 35, "admin").is_err(), "from the future");
    }

    #[test]
    fn read_concurrent_with_a_change_may_see_either_role() {
        let either = Ok(Judged { certain: 0, beside_a_change: 1 });
        assert_eq!(judged(35, 45, "author"), either);
        assert_eq!(judged(35, 45, "admin"), either);
        assert!(judged(35, 45, "user").is_err());
        assert_eq!(judged(15, 60, "user"), either);
    }
}
