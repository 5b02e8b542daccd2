//! Roles and ends of sessions are linearizable while PostgreSQL fails over.
//!
//! `tests/long/failover` starts a cluster under Patroni and several gateways, runs this test, and
//! makes the primary crash or freeze. A change that is not confirmed may or may not have happened.
//! Its user gets no further change, and a new user takes the place. With `DATABASE_READS=primary`
//! the same scenario has stale reads, which shows that this test finds them.

mod outcome;

use crate::history::{Change, ENDED, Read, check, record};
use e2e::{Api, TestUser};
use outcome::{Outcome, report};
use serde_json::json;
use std::{
    env,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time::sleep};

/// The pauses between two changes of each subject, in milliseconds. Some subjects change often, so
/// that changes coincide with failovers. Others change seldom, so that their users live through
/// failovers.
const PAUSES: [u64; 6] = [50, 200, 700, 1500, 3000, 6000];
const BETWEEN_READS: Duration = Duration::from_millis(20);
/// How long a user is read after the last change.
const LAST_READS: Duration = Duration::from_secs(3);

/// Stands for a role that no user has: the service does not know the user, or the session has
/// ended.
const ABSENT: &str = ENDED;
/// Stands for the state of a session before it ends.
const GOOD: &str = "good";

struct Scenario {
    gateways: Vec<Api>,
    admin: TestUser,
    /// The test ends as soon as this file exists.
    stop: PathBuf,
}

/// The time of one user, from registration to the last change, after which the user's session ends.
struct Epoch {
    user: TestUser,
    changes: Vec<Change>,
    session: String,
    /// The state of the session: [`GOOD`], and [`ABSENT`] from its end on.
    session_changes: Vec<Change>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: tests/long/run failover-quorum"]
async fn roles_are_linearizable_through_failovers() {
    let setting = |name: &str| env::var(name).unwrap_or_else(|_| panic!("{name} is set"));
    let gateways = setting("FAILOVER_GATEWAYS");
    let gateways: Vec<_> = gateways.split(',').map(Api::at).collect();
    let password = setting("FAILOVER_ADMIN_PASSWORD");
    let admin = TestUser::log_in(&gateways[0], "admin", &password).await;
    let stop = setting("FAILOVER_STOP").into();
    let scenario = Arc::new(Scenario {
        gateways,
        admin,
        stop,
    });

    let mut subjects = JoinSet::new();
    for number in 0..PAUSES.len() {
        subjects.spawn(Arc::clone(&scenario).run_subject(number));
    }
    let mut all = Outcome::default();
    while let Some(outcome) = subjects.join_next().await {
        all.add(outcome.expect("no subject panicked"));
    }
    let lost = scenario.lost(&all.epochs).await;
    report(&all, &lost);
    assert!(all.checked.unambiguous > 1000, "too few reads");
    if setting("FAILOVER_READS") == "primary" {
        assert!(
            !all.checked.stale.is_empty(),
            "the checker found no stale read"
        );
    } else {
        assert_eq!((all.checked.stale.len(), lost.len()), (0, 0));
    }
}

impl Scenario {
    fn has_ended(&self) -> bool {
        self.stop.exists()
    }

    async fn run_subject(self: Arc<Self>, number: usize) -> Outcome {
        let mut outcome = Outcome::default();
        while !self.has_ended() {
            let name = format!("subject {number} {}", outcome.epochs.len());
            let Some(user) = self.register(&name, number, &mut outcome).await else {
                break;
            };
            let Some(session) = self.make_session(&user, number, &mut outcome).await else {
                break;
            };
            self.run_epoch(user, session, number, &mut outcome).await;
        }
        outcome
    }

    /// Registers a user and logs in. Repeats each step until it is confirmed.
    async fn register(
        &self,
        name: &str,
        mut turn: usize,
        outcome: &mut Outcome,
    ) -> Option<TestUser> {
        let password = "password";
        let (subject, mut attempt) = (name, 0);
        let mut name = name.to_owned();
        while !self.has_ended() {
            turn += 1;
            let api = &self.gateways[turn % self.gateways.len()];
            let body = json!({ "username": name, "password": password });
            let registered = api.post("/register", &body).await;
            if registered.status != 200 {
                // The registration may have happened, so the next attempt uses another name.
                outcome.unavailable(&registered);
                attempt += 1;
                name = format!("{subject} {attempt}");
                continue;
            }
            while !self.has_ended() {
                turn += 1;
                let api = &self.gateways[turn % self.gateways.len()];
                let login = api.post("/login", &body).await;
                match login.status {
                    200 => return Some(TestUser::of_login(&login, &name, password)),
                    401 => outcome
                        .checked
                        .stale
                        .push(format!("{login} after {registered}")),
                    _ => outcome.unavailable(&login),
                }
            }
        }
        None
    }

    /// Creates a session of a registered user. Repeats this until it is confirmed.
    async fn make_session(
        &self,
        user: &TestUser,
        mut turn: usize,
        outcome: &mut Outcome,
    ) -> Option<String> {
        let body = json!({ "username": user.username, "password": user.password });
        while !self.has_ended() {
            turn += 1;
            let made = self.gateways[turn % self.gateways.len()]
                .post("/sessions", &body)
                .await;
            match made.status {
                201 => return made.json()["token"].as_str().map(str::to_owned),
                401 => outcome.checked.stale.push(format!("{made}")),
                _ => outcome.unavailable(&made),
            }
        }
        None
    }

    async fn run_epoch(
        self: &Arc<Self>,
        user: TestUser,
        session: String,
        number: usize,
        outcome: &mut Outcome,
    ) {
        let now = Instant::now();
        let first = |state| {
            vec![Change {
                began: now,
                acknowledged: Some(now),
                state,
            }]
        };
        let mut epoch = Epoch {
            user,
            changes: first("user"),
            session,
            session_changes: first(GOOD),
        };
        let ended = Arc::new(AtomicBool::new(false));
        let (mut readers, mut session_readers) = (JoinSet::new(), JoinSet::new());
        for api in &self.gateways {
            readers.spawn(read(api.with_token(&epoch.user.token), Arc::clone(&ended)));
            session_readers.spawn(read(api.with_token(&epoch.session), Arc::clone(&ended)));
        }
        let path = format!("/users/{}/role", epoch.user.id);
        while !self.has_ended()
            && epoch
                .changes
                .iter()
                .all(|change| change.acknowledged.is_some())
        {
            sleep(Duration::from_millis(PAUSES[number])).await;
            let turn = epoch.changes.len();
            let role = ["user", "author", "admin"][turn % 3];
            let api =
                self.gateways[(turn + number) % self.gateways.len()].with_token(&self.admin.token);
            let began = Instant::now();
            let changed = api.put(&path, &json!({ "role": role })).await;
            let acknowledged = (changed.status == 200).then(Instant::now);
            epoch.changes.push(Change {
                began,
                acknowledged,
                state: role,
            });
            match changed.status {
                200 => outcome.confirmed_changes += 1,
                // Every server that may decide knows the admin and the user, so these are stale.
                401 | 403 | 404 => outcome.checked.stale.push(format!("{changed}")),
                _ => outcome.unavailable(&changed),
            }
        }
        outcome.unconfirmed_changes += epoch
            .changes
            .iter()
            .filter(|change| change.acknowledged.is_none())
            .count();
        let end = self.end_session(epoch.user.id, number, outcome).await;
        epoch.session_changes.push(end);
        sleep(LAST_READS).await;
        ended.store(true, Ordering::SeqCst);
        let mut all = Vec::new();
        for (reads, unavailable) in readers.join_all().await {
            outcome.checked.add(check(&epoch.changes, &reads));
            outcome.unavailable += unavailable;
            all.extend(reads);
        }
        record(&epoch.user.username, "access token", &epoch.changes, &all);
        all.clear();
        for (mut reads, unavailable) in session_readers.join_all().await {
            all.extend_from_slice(&reads);
            let roles: Vec<_> = reads
                .iter()
                .filter(|read| read.state != ABSENT)
                .cloned()
                .collect();
            outcome.checked.add(check(&epoch.changes, &roles));
            for read in &mut reads {
                if read.state != ABSENT {
                    GOOD.clone_into(&mut read.state);
                }
            }
            outcome.checked.add(check(&epoch.session_changes, &reads));
            outcome.unavailable += unavailable;
        }
        let changes = [&epoch.changes[..], &epoch.session_changes[1..]].concat();
        record(&epoch.user.username, "session", &changes, &all);
        outcome.epochs.push(epoch);
    }

    /// Ends the sessions of a user. Repeats this until it is confirmed.
    async fn end_session(&self, user: i64, mut turn: usize, outcome: &mut Outcome) -> Change {
        let began = Instant::now();
        loop {
            turn += 1;
            let api = self.gateways[turn % self.gateways.len()].with_token(&self.admin.token);
            let answer = api.delete(&format!("/users/{user}/sessions")).await;
            match answer.status {
                200 => {
                    return Change {
                        began,
                        acknowledged: Some(Instant::now()),
                        state: ABSENT,
                    };
                }
                401 | 403 | 404 => outcome.checked.stale.push(format!("{answer}")),
                _ => outcome.unavailable(&answer),
            }
            if self.has_ended() {
                return Change {
                    began,
                    acknowledged: None,
                    state: ABSENT,
                };
            }
        }
    }

    /// Returns the users whose confirmed role is not stored, or whose session is valid after its
    /// confirmed end.
    async fn lost(&self, epochs: &[Epoch]) -> Vec<String> {
        let api = self.gateways[0].with_token(&self.admin.token);
        let mut lost = Vec::new();
        for epoch in epochs {
            let stored =
                e2e::until_served(|| async { api.get(&format!("/users/{}", epoch.user.id)).await })
                    .await;
            let state = stored.json()["role"].as_str().unwrap_or(ABSENT).to_owned();
            let now = Instant::now();
            if !check(
                &epoch.changes,
                &[Read {
                    began: now,
                    ended: now,
                    state,
                }],
            )
            .stale
            .is_empty()
            {
                lost.push(format!("{stored} after {:?}", epoch.changes.last()));
            }
            let api = self.gateways[0].with_token(&epoch.session);
            let by_session = e2e::until_served(|| async { api.get("/profile").await }).await;
            let end = epoch.session_changes.last();
            if by_session.status == 200 && end.is_some_and(|end| end.acknowledged.is_some()) {
                lost.push(format!("{by_session} after {end:?}"));
            }
        }
        lost
    }
}

/// Reads until `ended` is set. Also returns the number of reads without an answer.
async fn read(api: Api, ended: Arc<AtomicBool>) -> (Vec<Read>, usize) {
    let (mut reads, mut unavailable) = (Vec::new(), 0);
    while !ended.load(Ordering::SeqCst) {
        let began = Instant::now();
        let response = api.get("/profile").await;
        let state = match response.status {
            200 => response.json()["role"].as_str().expect("a role").to_owned(),
            401 => ABSENT.to_owned(),
            503 | 504 => {
                unavailable += 1;
                sleep(BETWEEN_READS).await;
                continue;
            }
            _ => panic!("{response}"),
        };
        reads.push(Read {
            began,
            ended: Instant::now(),
            state,
        });
        sleep(BETWEEN_READS).await;
    }
    (reads, unavailable)
}
