//! Writers, which change users and note what was answered.

use crate::{
    dice::Dice,
    history::{Actor, Attempt, History, State},
    stage::Stage,
};
use e2e::{Api, TestResponse, TestUser};
use reqwest::Method;
use serde_json::json;
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{sync::watch, time::sleep};

const ROLES: [&str; 3] = ["user", "author", "admin"];
pub(crate) const PASSWORD: &str = "open sesame";
/// One of this many changes is made by a command of the operator.
const COMMANDS: usize = 30;
/// The most users that are kept for further changes.
const MAX_SUBJECTS: usize = 40;
/// How long a writer waits after a refusal, as ordinary clients do.
const PAUSE: Duration = Duration::from_millis(50);

/// A user that changes. The writer that holds it is its only writer.
pub(crate) struct Subject {
    id: i64,
    state: State,
}

/// The state that all writers share.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) history: History,
    /// The number of acknowledged changes.
    pub(crate) made: watch::Sender<usize>,
    /// Users that no writer holds.
    subjects: Mutex<Vec<Subject>>,
}

pub(crate) struct Writer {
    pub(crate) name: String,
    pub(crate) stage: Arc<Stage>,
    pub(crate) work: Arc<Work>,
    /// Both gateways, with the credential of the writer.
    pub(crate) apis: [Api; 2],
    pub(crate) actor: Actor,
    pub(crate) dice: Dice,
}

impl Work {
    fn take(&self, dice: &mut Dice) -> Option<Subject> {
        let mut subjects = self.subjects.lock().expect("no writer panicked");
        let is_new = subjects.len() < MAX_SUBJECTS && dice.one_in(2);
        (!is_new && !subjects.is_empty()).then(|| {
            let index = dice.below(subjects.len());
            subjects.swap_remove(index)
        })
    }

    fn release(&self, subject: Subject) {
        self.subjects
            .lock()
            .expect("no writer panicked")
            .push(subject);
    }

    /// Adds the attempt to the history. Returns whether the change was acknowledged.
    fn record(&self, attempt: Attempt) -> bool {
        let is_made = attempt.acknowledged.is_some();
        self.history.add(attempt);
        self.made.send_modify(|made| *made += usize::from(is_made));
        is_made
    }
}

impl Writer {
    /// Writes until there are `wanted` acknowledged changes.
    pub(crate) async fn run(mut self, wanted: usize) {
        let mut users = 0;
        while *self.work.made.borrow() < wanted {
            let subject = if let Some(subject) = self.work.take(&mut self.dice) {
                self.change(subject).await
            } else {
                users += 1;
                let name = format!("{} {users}", self.name);
                // Most new users register themselves, because only registrations do not wait for
                // the lock of another change.
                if self.dice.one_in(4) {
                    let role = ROLES[self.dice.below(ROLES.len())];
                    self.create(name, role).await
                } else {
                    self.register(name).await
                }
            };
            // A user with an unacknowledged change gets no further one.
            if let Some(subject) = subject.filter(|it| !it.state.deleted) {
                self.work.release(subject);
            }
        }
    }

    /// Creates a user. Returns `None` if that was not acknowledged.
    pub(crate) async fn create(&mut self, username: String, role: &str) -> Option<Subject> {
        let state = State {
            username,
            role: role.to_owned(),
            disabled: false,
            deleted: false,
        };
        let user = json!({ "username": state.username, "password": PASSWORD, "role": role });
        let (api, began) = (self.api(), Instant::now());
        let created = api.post("/users", &user).await;
        let actor = self.actor.clone();
        if !self
            .note(began, &created, 201, &state, ("user_created", actor))
            .await
        {
            return None;
        }
        let id = created.json()["id"].as_i64().expect("an id");
        Some(Subject { id, state })
    }

    async fn register(&mut self, username: String) -> Option<Subject> {
        let user = json!({ "username": username, "password": PASSWORD });
        let state = State {
            username,
            role: "user".to_owned(),
            disabled: false,
            deleted: false,
        };
        let (api, began) = (self.api(), Instant::now());
        let registered = api.post("/register", &user).await;
        if !self
            .note(
                began,
                &registered,
                200,
                &state,
                ("registered", Actor::Owner),
            )
            .await
        {
            return None;
        }
        // The response does not name the id, so a login does, in its token.
        loop {
            let login = self.api().post("/login", &user).await;
            if is_served(&login) {
                let id = TestUser::of_login(&login, &state.username, PASSWORD).id;
                return Some(Subject { id, state });
            }
            sleep(PAUSE).await;
        }
    }

    /// Makes a random change. Returns the user if the change was acknowledged.
    async fn change(&mut self, mut subject: Subject) -> Option<Subject> {
        let (path, api) = (format!("/users/{}", subject.id), self.api());
        let state = &mut subject.state;
        let (event, request, command) = match self.dice.below(8) {
            0..2 => {
                state.deleted = true;
                (
                    "user_deleted",
                    api.request(Method::DELETE, &path),
                    vec!["delete", "--yes"],
                )
            }
            2..4 => {
                state.disabled = !state.disabled;
                let request = api.request(Method::PATCH, &path);
                let request = request.json(&json!({ "disabled": state.disabled }));
                if state.disabled {
                    ("user_disabled", request, vec!["disable"])
                } else {
                    ("user_enabled", request, vec!["enable"])
                }
            }
            _ => {
                let others: Vec<_> = ROLES.into_iter().filter(|it| *it != state.role).collect();
                let role = others[self.dice.below(others.len())];
                role.clone_into(&mut state.role);
                let request = api.request(Method::PUT, &format!("{path}/role"));
                (
                    "role_changed",
                    request.json(&json!({ "role": role })),
                    vec!["set-role", role],
                )
            }
        };
        let (state, began) = (subject.state.clone(), Instant::now());
        let is_made = if self.dice.one_in(COMMANDS) {
            // The username follows the command.
            let arguments = [&["user", command[0], &state.username], &command[1..]].concat();
            let exit = self.stage.command(&arguments).await;
            let acknowledged = (exit.code == Some(0)).then(Instant::now);
            let actor = Actor::Operator;
            self.work.record(Attempt {
                began,
                acknowledged,
                state,
                event,
                actor,
            })
        } else {
            let changed = api.send(request).await;
            self.note(began, &changed, 200, &state, (event, self.actor.clone()))
                .await
        };
        is_made.then_some(subject)
    }

    /// Adds the answer to the history. Returns whether the change was acknowledged.
    async fn note(
        &self,
        began: Instant,
        response: &TestResponse,
        success: u16,
        state: &State,
        (event, actor): (&'static str, Actor),
    ) -> bool {
        let acknowledged = is_served(response).then(Instant::now);
        if acknowledged.is_some() {
            response.expect(success);
        }
        let state = state.clone();
        let is_made = self.work.record(Attempt {
            began,
            acknowledged,
            state,
            event,
            actor,
        });
        if !is_made {
            sleep(PAUSE).await;
        }
        is_made
    }

    /// Returns one of the gateways.
    fn api(&mut self) -> Api {
        self.apis[self.dice.below(self.apis.len())].clone()
    }
}

fn is_served(response: &TestResponse) -> bool {
    ![503, 504].contains(&response.status)
}
