//! Starts the writers and the watchers, ends them, and checks what they did.

use crate::{
    check::{self, Checked},
    dice::Dice,
    history::{Actor, Attempt, State},
    record,
    stage::Stage,
    watcher::{Stored, Watcher},
    writer::{Work, Writer},
};
use e2e::{Api, TestUser};
use std::{sync::Arc, time::Instant};
use tokio::{sync::watch, task::JoinSet};

const WRITERS: usize = 8;
/// There are fewer watchers than a caller may have streams, because a stream that was broken off
/// may not have ended yet.
const WATCHERS: usize = 5;

pub(crate) struct Scenario {
    stage: Arc<Stage>,
    work: Arc<Work>,
    writers: JoinSet<()>,
    watchers: JoinSet<Vec<Stored>>,
    /// The name of the last user. A watcher ends once it has seen this user.
    last: watch::Sender<Option<String>>,
    /// Makes the last change.
    last_writer: Writer,
}

impl Scenario {
    /// Starts the writers and the watchers.
    pub(crate) async fn start(stage: &Arc<Stage>, wanted: usize) -> Self {
        let mut dice = Dice::from_environment();
        let (apis, admin, work) = (stage.apis(), stage.admin().await, Arc::new(Work::default()));
        work.history.add(seeded());
        let mut first = Writer {
            name: "the last".to_owned(),
            stage: Arc::clone(stage),
            work: Arc::clone(&work),
            apis: apis.each_ref().map(|api| api.with_token(&admin.token)),
            actor: Actor::Admin {
                id: admin.id,
                key: None,
                session: None,
            },
            dice: dice.split(),
        };
        let mut writers = JoinSet::new();
        let mut credentials = Vec::new();
        for number in 0..WRITERS {
            let name = format!("writer {number}");
            let (token, actor) = first.new_admin(&apis[0], &name, number % 2 == 0).await;
            let apis = apis.each_ref().map(|api| api.with_token(&token));
            credentials.push(token);
            let (stage, work, dice) = (Arc::clone(stage), Arc::clone(&work), dice.split());
            let writer = Writer {
                name,
                stage,
                work,
                apis,
                actor,
                dice,
            };
            writers.spawn(writer.run(wanted));
        }
        let (last, mut watchers) = (watch::Sender::new(None), JoinSet::new());
        for number in 0..WATCHERS {
            let watcher = Watcher {
                addresses: stage.auth_addresses(),
                token: credentials[number % credentials.len()].clone(),
                takes_snapshots: number % 2 == 1,
                dice: dice.split(),
            };
            watchers.spawn(watcher.run(last.subscribe()));
        }
        let stage = Arc::clone(stage);
        Self {
            stage,
            work,
            writers,
            watchers,
            last,
            last_writer: first,
        }
    }

    /// Waits until this many changes are acknowledged.
    pub(crate) async fn reach(&self, wanted: usize) {
        let mut made = self.work.made.subscribe();
        // Each wait has a limit, but not the whole: the long form takes long.
        while *made.borrow_and_update() < wanted {
            let changed = e2e::within_bounds("a change that is acknowledged", made.changed());
            changed.await.expect("this has the sender");
        }
    }

    /// Waits until every change is made and seen, and then checks everything.
    pub(crate) async fn finish(mut self) -> Checked {
        while let Some(writer) = self.writers.join_next().await {
            writer.expect("no writer panicked");
        }
        // The first token may have expired.
        let token = self.stage.admin().await.token;
        self.last_writer.apis = self.stage.apis().map(|api| api.with_token(&token));
        let mut attempt = 0;
        let last = loop {
            attempt += 1;
            let name = format!("the last {attempt}");
            if self
                .last_writer
                .create(name.clone(), "user")
                .await
                .is_some()
            {
                break name;
            }
        };
        self.last.send_replace(Some(last.clone()));
        let watched = e2e::within_bounds("the watchers", self.watchers.join_all()).await;
        let attempts = self.work.history.attempts();
        let (checked, changes) = check::check(&attempts, &watched, &last);
        record::check(&self.stage, &attempts, &changes).await;
        checked
    }
}

/// Returns the attempt that created the user `admin`, which each database has from the start.
fn seeded() -> Attempt {
    let now = Instant::now();
    let (username, role) = ("admin".to_owned(), "admin".to_owned());
    Attempt {
        began: now,
        acknowledged: Some(now),
        state: State {
            username,
            role,
            disabled: false,
            deleted: false,
        },
        event: "user_created",
        actor: Actor::Operator,
    }
}

impl Writer {
    /// Creates an admin who acts with an API key or with a session.
    async fn new_admin(&mut self, api: &Api, name: &str, has_key: bool) -> (String, Actor) {
        self.create(name.to_owned(), "admin")
            .await
            .expect("the replicas serve");
        let user = TestUser::log_in(api, name, crate::writer::PASSWORD).await;
        let (key, session, credential) = if has_key {
            let key = user.key(api).await;
            (Some(key.id), None, key)
        } else {
            let session = user.session(api).await;
            (None, Some(session.id), session)
        };
        (
            credential.token,
            Actor::Admin {
                id: user.id,
                key,
                session,
            },
        )
    }
}
