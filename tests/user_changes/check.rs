//! Checks what watchers saw, against the history and against each other.

use crate::{
    history::{Attempt, Attempts, State},
    watcher::{Seen, Stored},
};
use e2e::proof;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    time::Instant,
};

/// How many problems are printed.
const MAX_PRINTED: usize = 5;

/// The figures of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    changes: usize,
    users: usize,
    /// How many of the unacknowledged changes were made.
    made_unknown: usize,
    unknown: usize,
    snapshots: usize,
    problems: usize,
}

impl Checked {
    /// Prints the figures as a proof for `tests/prove`.
    pub(crate) fn prove(self, restarts: usize, failovers: usize) {
        let Self {
            changes,
            snapshots,
            made_unknown,
            problems,
            ..
        } = self;
        proof(
            "user-changes",
            &[
                ("changes", changes),
                ("killed or stopped replicas", restarts),
                ("failovers", failovers),
            ],
            &[
                ("lost or repeated or out of order", problems),
                ("exact snapshots", snapshots),
                ("unanswered and made", made_unknown),
            ],
        );
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            changes,
            users,
            made_unknown,
            unknown,
            snapshots,
            ..
        } = self;
        write!(
            formatter,
            "{changes} changes of {users} users, each seen once and in order; {made_unknown} of {unknown} \
             that were not acknowledged are made; {snapshots} snapshots are exact"
        )
    }
}

/// Checks everything up to the change of the user `last`. Returns the changes up to it, as all
/// watchers have seen them.
pub(crate) fn check(
    attempts: &Attempts,
    watched: &[Vec<Stored>],
    last: &str,
) -> (Checked, Vec<Seen>) {
    let changes = reference(watched, last);
    let end = changes.last().expect("the last user").revision;
    let mut problems = Problems::default();
    for pair in changes
        .windows(2)
        .filter(|pair| pair[0].revision >= pair[1].revision)
    {
        problems.add(format!("revisions do not ascend: {pair:?}"));
    }
    let order = order(attempts, &changes, &mut problems);
    real_time(&order, &mut problems);
    let mut checked = Checked {
        changes: changes.len(),
        users: attempts.len(),
        ..Checked::default()
    };
    for (number, stored) in watched.iter().enumerate() {
        checked.snapshots += watcher(number, stored, &order, &changes, end, &mut problems);
    }
    checked.unknown = attempts
        .values()
        .flatten()
        .filter(|it| it.acknowledged.is_none())
        .count();
    checked.made_unknown = order
        .iter()
        .filter(|(_, attempt)| attempt.acknowledged.is_none())
        .count();
    checked.problems = problems.expect_none();
    (checked, changes)
}

#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        self.0.push(problem);
    }

    fn compare(
        &mut self,
        watcher: usize,
        revision: i64,
        users: &BTreeMap<i64, State>,
        expected: &BTreeMap<i64, State>,
    ) {
        for id in users.keys().chain(expected.keys()).collect::<BTreeSet<_>>() {
            let (user, expected) = (users.get(id), expected.get(id));
            if user != expected {
                self.add(format!(
                    "watcher {watcher}, the snapshot of {revision}: {user:?} instead of {expected:?}"
                ));
            }
        }
    }

    fn expect_none(&self) -> usize {
        let count = self.0.len();
        assert!(
            count == 0,
            "{count} problems: {:#?}",
            &self.0[..count.min(MAX_PRINTED)]
        );
        count
    }
}

/// Returns what a watcher saw that took no snapshot. The others are compared with it.
fn reference(watched: &[Vec<Stored>], last: &str) -> Vec<Seen> {
    let of_changes = |stored: &&Vec<Stored>| {
        !stored
            .iter()
            .any(|it| matches!(it, Stored::Snapshot { .. }))
    };
    let stored = watched
        .iter()
        .find(of_changes)
        .expect("a watcher without snapshots");
    let mut changes: Vec<_> = stored
        .iter()
        .filter_map(|it| {
            if let Stored::Change(seen) = it {
                Some(seen.clone())
            } else {
                None
            }
        })
        .collect();
    let end = changes
        .iter()
        .position(|seen| seen.state.username == last)
        .expect("the last user");
    changes.truncate(end + 1);
    changes
}

/// Returns the attempt of each change, in the order of the revisions.
///
/// Reports a problem unless each user has exactly the attempted changes in their order. Only the
/// last one may be missing, if it was not acknowledged.
fn order<'a>(
    attempts: &'a Attempts,
    changes: &[Seen],
    problems: &mut Problems,
) -> Vec<(i64, &'a Attempt)> {
    let (mut made, mut ids) = (HashMap::<&str, usize>::new(), HashMap::new());
    let mut order = Vec::new();
    for seen in changes {
        let username = seen.state.username.as_str();
        if *ids.entry(username).or_insert(seen.user_id) != seen.user_id {
            problems.add(format!("{seen:?}: the user has another id"));
        }
        let number = made.entry(username).or_default();
        match attempts
            .get(username)
            .and_then(|attempts| attempts.get(*number))
        {
            Some(attempt) if attempt.state == seen.state => order.push((seen.revision, attempt)),
            expected => problems.add(format!("{seen:?} instead of {expected:?}")),
        }
        *number += 1;
    }
    for (username, attempts) in attempts {
        let made = made.get(username.as_str()).copied().unwrap_or_default();
        for lost in attempts
            .iter()
            .skip(made)
            .filter(|it| it.acknowledged.is_some())
        {
            problems.add(format!("lost: {lost:?}"));
        }
    }
    order
}

/// Checks that no change has a greater revision than one that began after it was acknowledged.
fn real_time(order: &[(i64, &Attempt)], problems: &mut Problems) {
    let mut latest: Option<&Attempt> = None;
    for (revision, attempt) in order {
        if let Some(latest) = latest
            && attempt
                .acknowledged
                .is_some_and(|acknowledged| acknowledged < latest.began)
        {
            problems.add(format!(
                "{revision}, {attempt:?}: behind the later {latest:?}"
            ));
        }
        if latest.is_none_or(|latest| latest.began < attempt.began) {
            latest = Some(attempt);
        }
    }
}

/// Checks one watcher. After each revision that it stored, the next change must follow and must not
/// come before it was sent. Each snapshot must be the state after its revision. Returns the number
/// of snapshots.
fn watcher(
    number: usize,
    stored: &[Stored],
    order: &[(i64, &Attempt)],
    changes: &[Seen],
    end: i64,
    problems: &mut Problems,
) -> usize {
    let began: HashMap<i64, Instant> = order
        .iter()
        .map(|(revision, attempt)| (*revision, attempt.began))
        .collect();
    let behind = |revision| changes.partition_point(|seen| seen.revision <= revision);
    let (mut revision, mut snapshots) = (0, 0);
    // The changes that are applied so far, and the users that result from them.
    let (mut applied, mut expected_users) = (0, BTreeMap::new());
    for item in stored {
        match item {
            Stored::Change(seen) if seen.revision > end => {}
            Stored::Change(seen) => {
                let expected = changes.get(behind(revision));
                if !expected.is_some_and(|expected| is_same(expected, seen)) {
                    problems.add(format!(
                        "watcher {number}, behind {revision}: {seen:?} instead of {expected:?}"
                    ));
                }
                if began
                    .get(&seen.revision)
                    .is_some_and(|began| seen.at < *began)
                {
                    problems.add(format!("watcher {number}: {seen:?} before it was sent"));
                }
                revision = seen.revision;
            }
            Stored::Progress(progress) => {
                if *progress < revision || behind(*progress) > behind(revision) {
                    problems.add(format!(
                        "watcher {number}, behind {revision}: all to {progress}"
                    ));
                }
                revision = *progress;
            }
            Stored::Snapshot {
                began,
                revision: of_snapshot,
                users,
            } => {
                snapshots += 1;
                let is_older = |attempt: &Attempt| {
                    attempt
                        .acknowledged
                        .is_some_and(|acknowledged| acknowledged < *began)
                };
                let missing = order
                    .iter()
                    .find(|it| it.0 > *of_snapshot && is_older(it.1));
                if *of_snapshot < revision || missing.is_some() {
                    problems.add(format!(
                        "watcher {number}, behind {revision}: a snapshot of {of_snapshot} without {missing:?}"
                    ));
                }
                let shown = behind(*of_snapshot);
                if *of_snapshot <= end && shown >= applied {
                    apply(&changes[applied..shown], &mut expected_users);
                    applied = shown;
                    problems.compare(number, *of_snapshot, users, &expected_users);
                }
                revision = *of_snapshot;
            }
        }
    }
    if revision < end {
        problems.add(format!("watcher {number} ended at {revision} before {end}"));
    }
    snapshots
}

fn is_same(one: &Seen, other: &Seen) -> bool {
    (one.revision, one.user_id, &one.state) == (other.revision, other.user_id, &other.state)
}

/// Returns the users after these changes, by id.
pub(crate) fn state(changes: &[Seen]) -> BTreeMap<i64, State> {
    let mut users = BTreeMap::new();
    apply(changes, &mut users);
    users
}

fn apply(changes: &[Seen], users: &mut BTreeMap<i64, State>) {
    for Seen { user_id, state, .. } in changes {
        if state.deleted {
            users.remove(user_id);
        } else {
            users.insert(*user_id, state.clone());
        }
    }
}

#[cfg(test)]
mod tests;
