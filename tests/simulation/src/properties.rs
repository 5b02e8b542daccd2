//! Checks the properties that `main` lists on the history of a run.

use crate::{
    faults::Faults,
    history::{Access, Change, History},
    outcome::Outcome,
    programs::LOGIN_FAILURE_LIMIT,
};
use std::{collections::BTreeMap, time::Duration};

/// How long after the last fault everything must work again. Pings notice a dead connection after 15 seconds, and a
/// call that waits for it ends after 10.
const RECOVERY: Duration = Duration::from_secs(30);

/// How often each property was checked, and what was violated.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) checked: BTreeMap<&'static str, u64>,
    pub(crate) violations: Vec<String>,
}

impl Verdict {
    fn count(&mut self, name: &'static str) {
        *self.checked.entry(name).or_default() += 1;
    }

    fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(problem());
        }
    }
}

pub(crate) fn check(history: &History, faults: &Faults) -> Verdict {
    let mut verdict = Verdict::default();
    for access in &history.accesses {
        check_access(history, access, &mut verdict);
    }
    check_passwords(history, &mut verdict);
    check_end(history, &mut verdict);
    check_limits(history, faults, &mut verdict);
    verdict.violations.extend(history.wrong.iter().cloned());
    let recovered = history.recovered.unwrap_or(Duration::MAX);
    verdict.expect(recovered <= RECOVERY, || {
        format!("recovered only after {recovered:?}")
    });
    verdict
}

/// The values that a part of a user's state may have had between two steps of the history.
struct Possible<T> {
    /// The last value that was acknowledged before the first step.
    stored: T,
    /// The values of changes that were in flight between the steps, or may take effect at any time because they got no
    /// answer.
    others: Vec<T>,
}

impl<T: PartialEq> Possible<T> {
    fn may_be(&self, value: &T) -> bool {
        self.stored == *value || self.others.contains(value)
    }

    fn is_certain(&self) -> bool {
        self.others.iter().all(|other| *other == self.stored)
    }
}

fn possible<T: PartialEq>(
    history: &History,
    user: usize,
    (begun, ended): (usize, usize),
    initial: T,
    value: impl Fn(&Change) -> Option<T>,
) -> Possible<T> {
    let mut possible = Possible {
        stored: initial,
        others: Vec::new(),
    };
    let of_user = history.changes.iter().filter(|change| change.user == user);
    for change in of_user.filter(|change| change.begun < ended) {
        let Some(value) = value(&change.change) else {
            continue;
        };
        match change.outcome {
            Outcome::Refused => {}
            // The newest acknowledged change counts, because one admin makes all changes, one after the other.
            Outcome::Done if change.ended < begun => possible.stored = value,
            Outcome::Done | Outcome::Unknown => possible.others.push(value),
        }
    }
    possible
}

fn roles(history: &History, user: usize, between: (usize, usize)) -> Possible<&'static str> {
    let role = |change: &Change| {
        if let Change::Role(role) = change {
            Some(*role)
        } else {
            None
        }
    };
    possible(history, user, between, "user", role)
}

fn disabled(history: &History, user: usize, between: (usize, usize)) -> Possible<bool> {
    let is = |change: &Change| {
        if let Change::Disabled(is) = change {
            Some(*is)
        } else {
            None
        }
    };
    possible(history, user, between, false, is)
}

fn passwords(history: &History, user: usize, between: (usize, usize)) -> Possible<usize> {
    let number = |change: &Change| match change {
        Change::Password(number) => Some(*number),
        _ => None,
    };
    possible(history, user, between, 0, number)
}

/// Returns whether the tokens of this login certainly ended before the first step, and whether they may have ended
/// before the second.
fn ended(history: &History, login: usize, (begun, until): (usize, usize)) -> (bool, bool) {
    let login = &history.logins[login];
    let ends = |change: &Change| {
        matches!(
            change,
            Change::SignOut | Change::Disabled(true) | Change::Password(_)
        )
    };
    let ends: Vec<_> = history
        .changes
        .iter()
        .filter(|it| it.user == login.user && ends(&it.change) && it.outcome != Outcome::Refused)
        .collect();
    let is_certain = |it: &&&crate::history::ChangeOf| {
        it.outcome == Outcome::Done && it.begun > login.ended && it.ended < begun
    };
    let may_have = ends
        .iter()
        .any(|it| it.begun < until && it.ended > login.begun);
    (ends.iter().any(|it| is_certain(&it)), may_have)
}

fn check_access(history: &History, access: &Access, verdict: &mut Verdict) {
    let user = history.logins[access.login].user;
    let between = (access.begun, access.ended);
    let (roles, disabled) = (
        roles(history, user, between),
        disabled(history, user, between),
    );
    let (is_ended, may_be_ended) = ended(history, access.login, between);
    let shown = || format!("{access:?} of user-{user}");
    let is_allowed = (200..300).contains(&access.status);
    if is_allowed || access.status == 403 {
        verdict.expect(!is_ended, || {
            format!("a token counts after its end: {}", shown())
        });
        verdict.expect(disabled.may_be(&false), || {
            format!("a disabled user counts: {}", shown())
        });
    }
    match access.status {
        200..300 if access.of_authors => {
            verdict.expect(roles.may_be(&"author"), || {
                format!("stale allow: {}", shown())
            });
            verdict.count("allowed_by_role");
        }
        200..300 => {
            let is_possible =
                roles.stored == access.role || roles.others.iter().any(|role| *role == access.role);
            verdict.expect(is_possible, || format!("stale role: {}", shown()));
            verdict.count("roles_read");
        }
        403 => {
            let is_possible = access.of_authors && roles.may_be(&"user");
            verdict.expect(is_possible, || {
                format!("refused against the role: {}", shown())
            });
            let was_author = history.changes.iter().any(|it| {
                it.user == user && it.ended < access.begun && it.change == Change::Role("author")
            });
            if was_author && roles.is_certain() {
                verdict.count("denied_after_demotion");
            }
        }
        401 => {
            let may_be = may_be_ended || disabled.may_be(&true);
            verdict.expect(may_be, || format!("a good token is refused: {}", shown()));
            verdict.count(if disabled.stored && disabled.is_certain() {
                "denied_after_disabling"
            } else if is_ended {
                "denied_after_sign_out"
            } else {
                "denied_meanwhile"
            });
        }
        _ => verdict.count("without_decision"),
    }
    if roles.is_certain() && disabled.is_certain() {
        verdict.count("of_certain_state");
    }
}

/// Checks which passwords logins and HTTP Basic accepted.
fn check_passwords(history: &History, verdict: &mut Verdict) {
    let logins = history.logins.iter().map(|login| (login, "logins"));
    for (login, kind) in logins.chain(history.basic.iter().map(|login| (login, "by_basic"))) {
        let between = (login.begun, login.ended);
        let disabled = disabled(history, login.user, between);
        let passwords = passwords(history, login.user, between);
        let is_good = passwords.is_certain() && passwords.stored == login.password;
        let problem = match login.status {
            200..300 if !disabled.may_be(&false) => "a disabled user logs in",
            200..300 if !passwords.may_be(&login.password) => "an old password counts",
            401 if is_good && !disabled.may_be(&true) => "a good password is refused",
            200..300 => {
                verdict.count(kind);
                continue;
            }
            401 if passwords.is_certain() && !is_good => {
                verdict.count("old_passwords_refused");
                continue;
            }
            _ => continue,
        };
        verdict.violations.push(format!("{problem}: {login:?}"));
    }
}

fn check_end(history: &History, verdict: &mut Verdict) {
    let Some((users, titles)) = &history.end else {
        verdict
            .violations
            .push("the end was not reached: a call did not end, or nothing recovered".into());
        return;
    };
    let end = (usize::MAX - 1, usize::MAX);
    for (index, (name, _)) in history.users.iter().enumerate() {
        let Some((_, role, is_disabled)) = users.iter().find(|(found, ..)| found == name) else {
            verdict.violations.push(format!("{name} is lost"));
            continue;
        };
        let (roles, disabled) = (roles(history, index, end), disabled(history, index, end));
        let role_may_be = roles.stored == role || roles.others.iter().any(|other| other == role);
        verdict.expect(role_may_be, || {
            format!("lost: {name} is {role}, not {}", roles.stored)
        });
        verdict.expect(disabled.may_be(is_disabled), || {
            format!("lost: disabled of {name}")
        });
        if roles.is_certain() && disabled.is_certain() {
            verdict.count("ends_of_certain_state");
        }
    }
    for (name, outcome) in &history.guests {
        let is_there = users.iter().any(|(found, ..)| found == name);
        let must_be = match outcome {
            Outcome::Done => false,
            Outcome::Refused => true,
            Outcome::Unknown => continue,
        };
        verdict.expect(is_there == must_be, || {
            format!("{name}: deletion {outcome:?}")
        });
        verdict.count("deletions");
    }
    for (title, outcome) in &history.posts {
        let is_there = titles.contains(title);
        let count = titles.iter().filter(|other| *other == title).count();
        verdict.expect(*outcome != Outcome::Done || is_there, || {
            format!("lost: {title}")
        });
        verdict.expect(*outcome != Outcome::Refused || !is_there, || {
            format!("not refused: {title}")
        });
        verdict.expect(count < 2, || format!("twice: {title}"));
        if *outcome == Outcome::Done {
            verdict.count("posts_kept");
        }
    }
    for (before, after) in &history.unanswered_edits {
        let there = titles
            .iter()
            .filter(|title| [before, after].contains(title))
            .count();
        verdict.expect(there == 1, || {
            format!("{there} posts with {before} or {after}")
        });
    }
    *verdict.checked.entry("posts_read").or_default() += history.posts_read as u64;
    let acknowledged = history
        .changes
        .iter()
        .filter(|change| change.outcome == Outcome::Done);
    *verdict.checked.entry("changes_acknowledged").or_default() += acknowledged.count() as u64;
    let unknown = history
        .changes
        .iter()
        .filter(|change| change.outcome == Outcome::Unknown);
    *verdict.checked.entry("changes_without_answer").or_default() += unknown.count() as u64;
}

/// Checks how many guesses were not refused. All guesses are within one window of a minute. Each auth-service counts on
/// its own, and a name's guesses go to another one only when the gateway loses the previous one.
fn check_limits(history: &History, faults: &Faults, verdict: &mut Verdict) {
    let processes = if faults.has_moved_names {
        3 + faults.restarts
    } else {
        1
    };
    let guesses = |status| history.guesses.iter().filter(|it| **it == status).count();
    let (checked, refused) = (guesses(401), guesses(429));
    let limit = (LOGIN_FAILURE_LIMIT * processes) as usize;
    let count = |verdict: &mut Verdict, name, number| {
        *verdict.checked.entry(name).or_default() += number as u64;
    };
    count(verdict, "guesses_checked", checked);
    count(verdict, "guesses_refused", refused);
    if refused > 0 && processes == 1 {
        count(verdict, "exact_limits", 1);
    }
    verdict.expect(checked <= limit, || {
        format!("{checked} guesses, and not {limit}: {:?}", history.guesses)
    });
}
