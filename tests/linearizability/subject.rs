//! A user whose role and credentials change, and the readers of that user.

use crate::{
    history::{Change, Checked, ENDED, Read, check, record},
    source::Source,
};
use e2e::{Api, OpaqueToken, TestApp, TestUser};
use reqwest::Method;
use serde_json::json;
use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};
use tokio::{sync::Semaphore, task::JoinSet};

/// How many reads of a user begin between two changes. There are so many that most reads have one
/// valid role.
const READS_BETWEEN_CHANGES: u32 = 25;

/// The kinds of credentials that readers present, as indexes into [`Readers::credentials`].
const ACCESS_TOKEN: usize = 0;
const SESSION: usize = 1;
const API_KEY: usize = 2;
const KINDS: [&str; 3] = ["access token", "session", "API key"];

/// The state that the writer and the readers of a user share.
struct Readers {
    /// The current credentials, which readers use in turns.
    credentials: Mutex<[Credential; 3]>,
    /// Counts the reads that began after the last change was acknowledged.
    reads_since_change: Semaphore,
    changes_done: AtomicUsize,
    stop: AtomicBool,
}

#[derive(Clone)]
struct Credential {
    token: String,
    /// The index of the credential's history in [`Writer::histories`].
    number: usize,
}

/// Changes the role and the credentials of a user.
pub(crate) struct Writer {
    user: TestUser,
    session: OpaqueToken,
    key: OpaqueToken,
    role: &'static str,
    /// The kind and the changes of each credential that the user ever had.
    histories: Vec<(usize, Vec<Change>)>,
    readers: Arc<Readers>,
    admin: String,
    gateways: [Api; 2],
    app: Arc<TestApp>,
}

/// The effect of a change on one of the credentials.
enum Effect {
    Grants(&'static str),
    /// Another credential of the same kind takes its place.
    Replaced(String),
}

impl Readers {
    fn credentials(&self) -> MutexGuard<'_, [Credential; 3]> {
        self.credentials.lock().expect("nothing panics with it")
    }

    /// Reads until stopped. Returns each read with the index of its history.
    ///
    /// A reader that panics closes the semaphore, so that the writer does not wait for its reads.
    async fn read(self: Arc<Self>, source: Source) -> Vec<(usize, Read)> {
        let closer = CloseOnPanic(&self.reads_since_change);
        let mut reads = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            let generation = self.changes_done.load(Ordering::SeqCst);
            let Credential { token, number } = self.credentials()[reads.len() % 3].clone();
            let began = Instant::now();
            let role = source.role(&token).await;
            let ended = Instant::now();
            reads.push((number, Read { began, ended, role }));
            if generation == self.changes_done.load(Ordering::SeqCst) {
                self.reads_since_change.add_permits(1);
            }
        }
        drop(closer);
        reads
    }
}

impl Writer {
    pub(crate) async fn new(
        user: TestUser,
        admin: String,
        gateways: [Api; 2],
        app: Arc<TestApp>,
    ) -> Self {
        let (session, key) = (
            user.session(&gateways[0]).await,
            user.key(&gateways[1]).await,
        );
        let (now, role) = (Instant::now(), "user");
        let of = |token: &str, number| Credential {
            token: token.to_owned(),
            number,
        };
        let credentials = [of(&user.token, 0), of(&session.token, 1), of(&key.token, 2)];
        let readers = Readers {
            credentials: Mutex::new(credentials),
            reads_since_change: Semaphore::new(0),
            changes_done: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let first = vec![Change {
            began: now,
            acknowledged: Some(now),
            role,
        }];
        let histories = [ACCESS_TOKEN, SESSION, API_KEY]
            .map(|place| (place, first.clone()))
            .to_vec();
        let readers = Arc::new(readers);
        Self {
            user,
            session,
            key,
            role,
            histories,
            readers,
            admin,
            gateways,
            app,
        }
    }

    /// Makes changes until there are enough reads, and then checks the reads.
    pub(crate) async fn run_scenario(mut self, sources: Vec<Source>, wanted: usize) -> Checked {
        let mut reading = JoinSet::new();
        for source in sources {
            reading.spawn(Arc::clone(&self.readers).read(source));
        }
        let turns = wanted.div_ceil(READS_BETWEEN_CHANGES as usize) + 1;
        for turn in 0..turns {
            let permits = self
                .readers
                .reads_since_change
                .acquire_many(READS_BETWEEN_CHANGES)
                .await;
            permits.expect("a reader panicked").forget();
            let began = Instant::now();
            let effects = self.change(turn).await;
            self.record(began, effects);
            self.readers.changes_done.fetch_add(1, Ordering::SeqCst);
            // Reads concurrent with this change do not count towards the next one.
            self.readers
                .reads_since_change
                .forget_permits(usize::MAX >> 4);
        }
        self.readers.stop.store(true, Ordering::SeqCst);
        let mut reads = vec![Vec::new(); self.histories.len()];
        while let Some(of_reader) = reading.join_next().await {
            for (number, read) in of_reader.expect("no reader panicked") {
                reads[number].push(read);
            }
        }
        let mut checked = Checked {
            changes: turns,
            ..Checked::default()
        };
        for (number, ((place, changes), reads)) in self.histories.iter().zip(&reads).enumerate() {
            record(
                &format!("{} {number}", self.user.username),
                KINDS[*place],
                changes,
                reads,
            );
            checked.add(check(changes, reads));
        }
        checked
    }

    fn record(&mut self, began: Instant, effects: Vec<(usize, Effect)>) {
        let now = Instant::now();
        let mut credentials = self.readers.credentials();
        for (place, effect) in effects {
            let acknowledged = Some(now);
            match effect {
                Effect::Grants(role) => {
                    let (_, history) = &mut self.histories[credentials[place].number];
                    history.push(Change {
                        began,
                        acknowledged,
                        role,
                    });
                }
                Effect::Replaced(token) => {
                    credentials[place] = Credential {
                        token,
                        number: self.histories.len(),
                    };
                    let first = Change {
                        began: now,
                        acknowledged,
                        role: self.role,
                    };
                    self.histories.push((place, vec![first]));
                }
            }
        }
    }

    /// Makes one change, through the two gateways in turns or by SQL.
    async fn change(&mut self, turn: usize) -> Vec<(usize, Effect)> {
        const ENDS: Effect = Effect::Grants(ENDED);
        const ALL: [usize; 3] = [ACCESS_TOKEN, SESSION, API_KEY];
        let (round, turn) = (turn / 12, turn % 12);
        let api = self.gateways[(round + turn) % 2].clone();
        match turn {
            0 | 3 | 6 => {
                self.role = ["author", "admin", "user"][turn / 3];
                self.set_role(&api, turn == 6).await;
                ALL.map(|place| (place, Effect::Grants(self.role))).into()
            }
            1 => {
                self.end_session(&api, round).await;
                vec![(SESSION, ENDS)]
            }
            2 => vec![self.replace_session(&api).await],
            4 => {
                let path = format!("/profile/keys/{}", self.key.id);
                api.with_token(&self.user.token)
                    .delete(&path)
                    .await
                    .expect(200);
                vec![(API_KEY, ENDS)]
            }
            5 => {
                self.key = self.user.key(&api).await;
                vec![(API_KEY, Effect::Replaced(self.key.token.clone()))]
            }
            7 => {
                let survives = self.revoke_tokens(&api, round).await;
                let ended = [Some(ACCESS_TOKEN), (!survives).then_some(SESSION)];
                ended
                    .into_iter()
                    .flatten()
                    .map(|place| (place, ENDS))
                    .collect()
            }
            9 => {
                self.set_disabled(&api, true).await;
                ALL.map(|place| (place, ENDS)).into()
            }
            // When the user is enabled again, only the API key becomes valid again.
            10 => {
                self.set_disabled(&api, false).await;
                vec![(API_KEY, Effect::Grants(self.role))]
            }
            _ => {
                let TestUser {
                    username, password, ..
                } = &self.user;
                self.user = TestUser::log_in(&api, username, password).await;
                let token = (ACCESS_TOKEN, Effect::Replaced(self.user.token.clone()));
                vec![token, self.replace_session(&api).await]
            }
        }
    }

    async fn set_role(&self, api: &Api, by_sql: bool) {
        if by_sql {
            return self
                .app
                .database
                .set_role(&self.user.username, self.role)
                .await;
        }
        let path = format!("/users/{}/role", self.user.id);
        let response = api
            .with_token(&self.admin)
            .put(&path, &json!({ "role": self.role }))
            .await;
        response.expect_message("User role updated successfully.");
    }

    /// Ends only the session, in one of four ways: with the session itself, with the access token,
    /// together with all other sessions, or as an admin.
    async fn end_session(&self, api: &Api, round: usize) {
        let id = self.session.id;
        let (own, admin) = (
            api.with_token(&self.user.token),
            api.with_token(&self.admin),
        );
        match round % 4 {
            0 => api.with_token(&self.session.token).log_out().await,
            1 => drop(
                own.delete(&format!("/profile/sessions/{id}"))
                    .await
                    .expect(200),
            ),
            2 => drop(own.delete("/profile/sessions").await.expect(200)),
            _ => {
                let path = format!("/users/{}/sessions/{id}", self.user.id);
                admin.delete(&path).await.expect(200);
            }
        }
    }

    async fn replace_session(&mut self, api: &Api) -> (usize, Effect) {
        self.session = self.user.session(api).await;
        (SESSION, Effect::Replaced(self.session.token.clone()))
    }

    /// Ends all credentials but the API key, in one of three ways: as the user, as an admin, or by
    /// a new password. The session that sets the password survives. Returns whether the session
    /// survives.
    async fn revoke_tokens(&mut self, api: &Api, round: usize) -> bool {
        match round % 3 {
            0 => api.with_token(&self.user.token).log_out().await,
            1 => {
                let path = format!("/users/{}/tokens", self.user.id);
                api.with_token(&self.admin).delete(&path).await.expect(200);
            }
            _ => {
                let new = format!("password {round}");
                let current = mem::replace(&mut self.user.password, new);
                let body =
                    json!({ "current_password": current, "new_password": self.user.password });
                let own = api.with_token(&self.session.token);
                own.put("/profile/password", &body).await.expect(200);
                return true;
            }
        }
        false
    }

    async fn set_disabled(&self, api: &Api, disabled: bool) {
        let api = api.with_token(&self.admin);
        let request = api.request(Method::PATCH, &format!("/users/{}", self.user.id));
        api.send(request.json(&json!({ "disabled": disabled })))
            .await
            .expect(200);
    }
}

struct CloseOnPanic<'a>(&'a Semaphore);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}
