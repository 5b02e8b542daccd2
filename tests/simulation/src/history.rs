//! Records what clients did and saw. The order is exact, because everything happens in one thread.

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
    /// A sign-out, which ends all tokens and sessions of the user.
    SignOut,
    /// A new password with this number, which also ends all tokens and sessions.
    Password(usize),
}

/// A change of a user. `begun` and `ended` are the steps of the history at which the request was sent and answered.
#[derive(Clone, Debug)]
pub(crate) struct ChangeOf {
    pub(crate) user: usize,
    pub(crate) change: Change,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    pub(crate) outcome: Outcome,
}

/// A login, successful or not, or a request with HTTP Basic.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: usize,
    /// The number of the password that the client presented.
    pub(crate) password: usize,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    pub(crate) status: u16,
}

/// A request that was made with the token of a login.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) login: usize,
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    /// Set if only authors and admins may make the request.
    pub(crate) of_authors: bool,
    pub(crate) status: u16,
    /// The role in the answer, or empty if the answer names none.
    pub(crate) role: String,
}

/// A user as the admin sees them at the end: the name, the role, and whether the user is disabled.
type SeenUser = (String, String, bool);

#[derive(Default)]
pub(crate) struct History {
    steps: usize,
    pub(crate) changes: Vec<ChangeOf>,
    pub(crate) logins: Vec<Login>,
    pub(crate) basic: Vec<Login>,
    pub(crate) accesses: Vec<Access>,
    /// The statuses of the answers to the guesser.
    pub(crate) guesses: Vec<u16>,
    /// The titles that were sent for posts. `Done` means that the title must be stored, `Refused` that it must not be.
    pub(crate) posts: Vec<(String, Outcome)>,
    /// The titles before and after an edit without an answer. Exactly one of the two must be stored.
    pub(crate) unanswered_edits: Vec<(String, String)>,
    /// How many posts were read after their last edit.
    pub(crate) posts_read: usize,
    /// The users whom the admin created and then deleted, with the outcome of the deletion.
    pub(crate) guests: Vec<(String, Outcome)>,
    /// The names and ids of the users who exist from the start.
    pub(crate) users: Vec<(String, i64)>,
    /// The newest token of each user, with the index of its login.
    pub(crate) tokens: Vec<Option<(usize, String)>>,
    pub(crate) requests: usize,
    /// Violations that clients noticed themselves: calls that took too long, and reads that were stale.
    pub(crate) wrong: Vec<String>,
    /// The duration of the longest call, in milliseconds.
    pub(crate) longest: u128,
    /// The log of the run, one line for each event.
    pub(crate) lines: Vec<String>,
    /// Set once no more faults occur.
    pub(crate) is_calm: bool,
    /// The users and the titles of posts that the admin saw at the end.
    pub(crate) end: Option<(Vec<SeenUser>, Vec<String>)>,
    /// How long it took after the last fault until everything worked.
    pub(crate) recovered: Option<Duration>,
    /// How many users have had their last answer.
    pub(crate) users_done: usize,
}

pub(crate) type Shared = Rc<RefCell<History>>;

/// Returns the simulated time since the simulation began.
pub(crate) fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

impl History {
    /// Creates a title that no other post has, and notes it before it is sent.
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

/// Makes a call, notes how long it took, and returns the steps at which it began and ended, and the answer.
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
