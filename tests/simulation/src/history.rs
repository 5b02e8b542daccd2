//! What clients did and saw, in the order in which it happened: all of it happens in one thread.

use crate::{
    http::{self, Answer, Credentials},
    outcome::Outcome,
};
use std::{cell::RefCell, rc::Rc, time::Duration};

/// A change that an admin or the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Role(&'static str),
    Disabled(bool),
    /// Ends all tokens and sessions.
    SignOut,
    /// The number of a new one, which ends tokens and sessions too.
    Password(usize),
}

/// A change of a user, from `begun` to `ended`, which are steps of the history.
#[derive(Clone, Debug)]
pub(crate) struct ChangeOf {
    pub(crate) user: usize,
    pub(crate) change: Change,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    pub(crate) outcome: Outcome,
}

/// A login that gave this token, or none; or a request with HTTP Basic.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: usize,
    /// The number of the password.
    pub(crate) password: usize,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    pub(crate) status: u16,
}

/// A request with the token of a login.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) login: usize,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    /// Whether only authors and admins may do it.
    pub(crate) of_authors: bool,
    pub(crate) status: u16,
    /// The role that the answer names, if it does.
    pub(crate) role: String,
}

/// The name, the role, and whether the user is disabled.
type SeenUser = (String, String, bool);

#[derive(Default)]
pub(crate) struct History {
    steps: usize,
    pub(crate) changes: Vec<ChangeOf>,
    pub(crate) logins: Vec<Login>,
    pub(crate) basic: Vec<Login>,
    pub(crate) accesses: Vec<Access>,
    /// The answers to guesses of a password.
    pub(crate) guesses: Vec<u16>,
    /// Titles of posts: `Done` of one that is acknowledged, `Refused` of one that must not be there.
    pub(crate) posts: Vec<(String, Outcome)>,
    /// Titles before and after an edit without an answer: of an acknowledged post, one of them is there.
    pub(crate) unanswered_edits: Vec<(String, String)>,
    /// Reads of posts after their last edit.
    pub(crate) posts_read: usize,
    /// Users whom the admin made and then deleted.
    pub(crate) guests: Vec<(String, Outcome)>,
    /// Of users who exist since the start: the name and the id.
    pub(crate) users: Vec<(String, i64)>,
    /// Each user's last token, with its login.
    pub(crate) tokens: Vec<Option<(usize, String)>>,
    pub(crate) requests: usize,
    /// Calls that took longer than they may, and answers that were stale.
    pub(crate) wrong: Vec<String>,
    /// The longest call, in milliseconds.
    pub(crate) longest: u128,
    /// What happened, a line each.
    pub(crate) lines: Vec<String>,
    /// No more faults.
    pub(crate) is_calm: bool,
    /// What the admin saw at the end: the users, and the titles of posts.
    pub(crate) end: Option<(Vec<SeenUser>, Vec<String>)>,
    /// How long it took after the last fault until everything worked.
    pub(crate) recovered: Option<Duration>,
    /// Users whose last request is answered.
    pub(crate) users_done: usize,
}

pub(crate) type Shared = Rc<RefCell<History>>;

/// The time since the simulation began.
pub(crate) fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

impl History {
    /// Notes a title before it is sent.
    pub(crate) fn title(&mut self, of: &str) -> String {
        let title = format!("title {} of {of}", self.posts.len());
        self.posts.push((title.clone(), Outcome::Unknown));
        title
    }

    pub(crate) fn set_title(&mut self, title: &str, outcome: Outcome) {
        for post in self.posts.iter_mut().filter(|post| post.0 == title) {
            post.1 = outcome;
        }
    }

    pub(crate) fn step(&mut self) -> usize {
        self.steps += 1;
        self.steps
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.line_at(now(), line);
    }

    pub(crate) fn line_at(&mut self, at: Duration, line: &str) {
        self.lines.push(format!("{:>9.3} {line}", at.as_secs_f64()));
    }
}

/// Makes a call, notes how long it took, and returns the steps at which it began and ended.
pub(crate) async fn call(
    history: &Shared,
    who: &str,
    (method, path): (&str, &str),
    credentials: Credentials<'_>,
    body: Option<serde_json::Value>,
) -> (usize, usize, Answer) {
    let begun = history.borrow_mut().step();
    let since = tokio::time::Instant::now();
    let answer = http::call(method, path, credentials, body).await;
    let took = since.elapsed();
    let mut history = history.borrow_mut();
    let ended = history.step();
    history.requests += 1;
    history.longest = history.longest.max(took.as_millis());
    let error = answer.body["detail"]
        .as_str()
        .or(answer.body.as_str())
        .unwrap_or_default();
    let line = format!(
        "{who} {method} {path}: {} {error} ({} ms)",
        answer.status,
        took.as_millis()
    );
    history.line(&line);
    if took > http::bound(method, path) {
        history.wrong.push(format!("late: {line}"));
    }
    (begun, ended, answer)
}
