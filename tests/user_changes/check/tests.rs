//! Plants each kind of fault into a small history, which the check must find.

use super::{Checked, check};
use crate::{
    history::{Actor, Attempt, Attempts, State},
    watcher::{Seen, Stored},
};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

fn state(username: &str, role: &str) -> State {
    State {
        username: username.to_owned(),
        role: role.to_owned(),
        disabled: false,
        deleted: false,
    }
}

/// A history in which `a` is created and becomes an author, and then the other users are created in
/// this order. Attempt `n` begins at `10 n` milliseconds and is acknowledged 5 milliseconds later.
struct Sample {
    start: Instant,
    attempts: Attempts,
    changes: Vec<Stored>,
}

impl Sample {
    fn new() -> Self {
        let mut sample = Self {
            start: Instant::now(),
            attempts: Attempts::new(),
            changes: Vec::new(),
        };
        for (username, role) in [
            ("a", "user"),
            ("a", "author"),
            ("b", "user"),
            ("last", "user"),
        ] {
            sample.add(username, role);
        }
        sample
    }

    fn at(&self, millis: u64) -> Instant {
        self.start + Duration::from_millis(millis)
    }

    fn add(&mut self, username: &str, role: &str) {
        let number = u64::try_from(self.changes.len()).expect("few");
        let (began, state) = (self.at(10 * number), state(username, role));
        let attempt = Attempt {
            began,
            acknowledged: Some(self.at(10 * number + 5)),
            state: state.clone(),
            event: "role_changed",
            actor: Actor::Operator,
        };
        self.attempts
            .entry(username.to_owned())
            .or_default()
            .push(attempt);
        let user_id = i64::from(username.as_bytes()[0]);
        let revision = i64::try_from(number).expect("few") + 1;
        self.changes.push(Stored::Change(Seen {
            revision,
            user_id,
            state,
            at: self.at(100),
        }));
    }

    fn attempt(&mut self, username: &str) -> &mut Attempt {
        self.attempts
            .get_mut(username)
            .and_then(|it| it.last_mut())
            .expect("an attempt")
    }

    fn seen(&mut self, index: usize) -> &mut Seen {
        let Stored::Change(seen) = &mut self.changes[index] else {
            panic!("a change")
        };
        seen
    }

    /// Checks the history with a second watcher that saw `other`.
    fn check(&self, other: &[Stored]) -> Checked {
        check(
            &self.attempts,
            &[self.changes.clone(), other.to_vec()],
            "last",
        )
        .0
    }

    /// Checks the history with two watchers that saw the same.
    fn check_both(&self) -> Checked {
        self.check(&self.changes)
    }
}

#[test]
fn watchers_may_see_everything_or_a_snapshot_first_and_what_was_not_acknowledged_or_not() {
    let mut sample = Sample::new();
    assert_eq!(
        sample.check_both(),
        Checked {
            changes: 4,
            users: 3,
            ..Checked::default()
        }
    );
    let users = BTreeMap::from([(97, state("a", "author"))]);
    let snapshot = Stored::Snapshot {
        began: sample.at(12),
        revision: 2,
        users,
    };
    let checked = sample.check(&[&[snapshot], &sample.changes[2..]].concat());
    assert_eq!(checked.snapshots, 1);
    sample.attempt("b").acknowledged = None;
    assert_eq!(
        (
            sample.check_both().unknown,
            sample.check_both().made_unknown
        ),
        (1, 1)
    );
    sample.changes.remove(2);
    assert_eq!(
        (
            sample.check_both().unknown,
            sample.check_both().made_unknown
        ),
        (1, 0)
    );
}

#[test]
#[should_panic(expected = "lost: ")]
fn a_change_that_nobody_saw_is_lost() {
    let mut sample = Sample::new();
    sample.changes.remove(2);
    sample.check_both();
}

#[test]
#[should_panic(expected = "watcher 1, behind 2: ")]
fn a_change_that_one_watcher_missed_is_found() {
    let sample = Sample::new();
    sample.check(&[&sample.changes[..2], &sample.changes[3..]].concat());
}

#[test]
#[should_panic(expected = "watcher 1, behind 2: ")]
fn a_change_that_comes_twice_is_found() {
    let sample = Sample::new();
    sample.check(&[&sample.changes[..2], &sample.changes[1..]].concat());
}

#[test]
#[should_panic(expected = "revisions do not ascend: ")]
fn a_revision_that_two_changes_have_is_found() {
    let mut sample = Sample::new();
    sample.seen(2).revision = 2;
    sample.check_both();
}

#[test]
#[should_panic(expected = "watcher 1, behind 2: all to 3")]
fn a_progress_that_skips_a_change_is_found() {
    let sample = Sample::new();
    let progress = Stored::Progress(3);
    sample.check(&[&sample.changes[..2], &[progress], &sample.changes[3..]].concat());
}

#[test]
#[should_panic(expected = "instead of ")]
fn changes_of_a_user_in_another_order_are_found() {
    let mut sample = Sample::new();
    "author".clone_into(&mut sample.seen(0).state.role);
    "user".clone_into(&mut sample.seen(1).state.role);
    sample.check_both();
}

#[test]
#[should_panic(expected = "behind the later ")]
fn revisions_against_real_time_are_found() {
    let mut sample = Sample::new();
    sample.attempt("b").began = sample.start;
    sample.attempt("b").acknowledged = Some(sample.at(5));
    sample.check_both();
}

#[test]
#[should_panic(expected = "before it was sent")]
fn a_change_from_the_future_is_found() {
    let mut sample = Sample::new();
    sample.seen(2).at = sample.start;
    sample.check_both();
}

#[test]
#[should_panic(expected = "the snapshot of 2")]
fn a_snapshot_with_an_outdated_role_is_found() {
    let sample = Sample::new();
    let users = BTreeMap::from([(97, state("a", "user"))]);
    let snapshot = Stored::Snapshot {
        began: sample.start,
        revision: 2,
        users,
    };
    sample.check(&[&[snapshot], &sample.changes[2..]].concat());
}

#[test]
#[should_panic(expected = "a snapshot of 1 without ")]
fn a_snapshot_without_what_was_acknowledged_before_is_found() {
    let sample = Sample::new();
    let users = BTreeMap::from([(97, state("a", "user"))]);
    let snapshot = Stored::Snapshot {
        began: sample.at(20),
        revision: 1,
        users,
    };
    sample.check(&[&[snapshot], &sample.changes[1..]].concat());
}
