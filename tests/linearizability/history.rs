//! Checks reads against the history of changes.

use std::{env, fmt::Write as _, fs::OpenOptions, io::Write as _, time::Instant};

/// The state of a credential that was never valid or has ended.
pub(crate) const ENDED: &str = "ended";

/// A change of what a credential grants.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// A moment before the change was sent.
    pub(crate) began: Instant,
    /// When the change was acknowledged. `None` if it may or may not have happened, and then it is
    /// the last one.
    pub(crate) acknowledged: Option<Instant>,
    /// What the credential grants from then on: a role, whether its user is in a group, or [`ENDED`].
    pub(crate) state: &'static str,
}

/// What a credential granted to a reader.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) state: String,
}

/// The result of checking reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// How many acknowledged changes the reads were checked against.
    pub(crate) changes: usize,
    /// Reads with no change in flight, for which one state was valid.
    pub(crate) unambiguous: usize,
    /// Reads with a change in flight, for which the states before and after it were valid.
    pub(crate) concurrent: usize,
    /// A description of each read whose state was not valid.
    pub(crate) stale: Vec<String>,
}

impl Checked {
    /// Adds the result of another reader.
    pub(crate) fn add(&mut self, other: Self) {
        self.changes += other.changes;
        self.unambiguous += other.unambiguous;
        self.concurrent += other.concurrent;
        self.stale.extend(other.stale);
    }
}

/// Checks the reads of one user or one credential against its changes, which are in order and do
/// not overlap.
pub(crate) fn check(changes: &[Change], reads: &[Read]) -> Checked {
    let mut checked = Checked::default();
    for read in reads {
        // The last change that was acknowledged before the read began, and all changes that overlap
        // the read.
        let is_settled = |change: &Change| change.acknowledged.is_some_and(|at| at <= read.began);
        let settled = changes.partition_point(is_settled);
        let begun = changes.partition_point(|change| change.began < read.ended);
        let valid = &changes[settled.saturating_sub(1)..begun];
        if !valid.iter().any(|change| change.state == read.state) {
            checked.stale.push(format!("{read:?} is none of {valid:?}"));
            continue;
        }
        match valid {
            [_] => checked.unambiguous += 1,
            _ => checked.concurrent += 1,
        }
    }
    checked
}

/// Appends the operations on a credential to the file that `LINEARIZABILITY_HISTORY` names, if it
/// is set. `tests/specifications` replays this file.
pub(crate) fn record(credential: &str, kind: &str, changes: &[Change], reads: &[Read]) {
    let Some(path) = env::var_os("LINEARIZABILITY_HISTORY") else {
        return;
    };
    let origin = changes[0].began;
    let at = |time: &Instant| time.duration_since(origin).as_micros();
    let mut lines = String::new();
    for Change {
        began,
        acknowledged,
        state,
    } in changes
    {
        let (began, at) = (at(began), acknowledged.as_ref().map(at));
        let acknowledged = at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let _ = writeln!(
            lines,
            "{credential}\t{kind}\tchange\t{began}\t{acknowledged}\t{state}"
        );
    }
    for Read {
        began,
        ended,
        state,
    } in reads
    {
        let (began, ended) = (at(began), at(ended));
        let _ = writeln!(
            lines,
            "{credential}\t{kind}\tread\t{began}\t{ended}\t{state}"
        );
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(lines.as_bytes()))
        .expect("the history is written");
}

#[cfg(test)]
mod tests {
    use super::{Change, Checked, Read, check};
    use std::time::{Duration, Instant};

    /// Checks one read against this history, in milliseconds: a user is created from 0 to 10,
    /// becomes author from 20 to 30 and admin from 40 to 50. From 60 on, the user may become `user`
    /// again at any time or never.
    fn checked(began: u64, ended: u64, state: &str) -> Checked {
        let start = Instant::now();
        let at = |millisecond| start + Duration::from_millis(millisecond);
        let change = |began, acknowledged: Option<u64>, state| Change {
            began: at(began),
            acknowledged: acknowledged.map(at),
            state,
        };
        let changes = [
            change(0, Some(10), "user"),
            change(20, Some(30), "author"),
            change(40, Some(50), "admin"),
            change(60, None, "user"),
        ];
        check(
            &changes,
            &[Read {
                began: at(began),
                ended: at(ended),
                state: state.to_owned(),
            }],
        )
    }

    fn is_stale(began: u64, ended: u64, state: &str) -> bool {
        !checked(began, ended, state).stale.is_empty()
    }

    #[test]
    fn read_between_changes_has_one_valid_state() {
        let unambiguous = Checked {
            unambiguous: 1,
            ..Checked::default()
        };
        assert_eq!(checked(31, 35, "author"), unambiguous);
        assert_eq!(checked(51, 59, "admin"), unambiguous);
        assert!(is_stale(31, 35, "user"));
        assert!(is_stale(51, 59, "author"));
        assert!(is_stale(31, 35, "admin"), "from the future");
    }

    #[test]
    fn read_concurrent_with_a_change_may_see_either_state() {
        let either = Checked {
            concurrent: 1,
            ..Checked::default()
        };
        assert_eq!(checked(35, 45, "author"), either);
        assert_eq!(checked(35, 45, "admin"), either);
        assert!(is_stale(35, 45, "user"));
        assert_eq!(checked(15, 59, "user"), either);
    }

    #[test]
    fn unacknowledged_change_may_be_seen_or_not() {
        let either = Checked {
            concurrent: 1,
            ..Checked::default()
        };
        assert_eq!(checked(70, 80, "admin"), either);
        assert_eq!(checked(70, 80, "user"), either);
        assert!(is_stale(70, 80, "author"));
    }
}
