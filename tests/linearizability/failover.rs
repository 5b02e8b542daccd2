//! Roles, memberships and ends of sessions are linearizable while PostgreSQL fails over.
//!
//! `tests/long/failover` starts a cluster under Patroni and several gateways, runs this test, and
//! makes the primary crash or freeze. A change that is not confirmed may or may not have happened.
//! Its user gets no further change, and a new user takes the place. With `DATABASE_READS=primary`
//! the same scenario has stale reads, which shows that this test finds them.

mod memberships;
mod outcome;

use crate::{
    history::{Change, ENDED, Read, check, record},
    source::membership,
    subject::STRANGER,
};
use e2e::{Api, TestResponse, TestUser};
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
    /// The same gateways, at the addresses for proxies.
    forward_gateways: Vec<Api>,
    admin: TestUser,
    /// The id of the group [`memberships::GROUP`].
    group_id: i64,
    /// The test ends as soon as this file exists.
    stop: PathBuf,
}

/// The time of one user, from registration to the last change, after which the user's session ends.
struct Epoch {
    user: TestUser,
    changes: Vec<Change>,
    memberships: Vec<Change>,
    session: String,
    /// The state of the session: [`GOOD`], and [`ABSENT`] from its end on.
    session_changes: Vec<Change>,
}

/// What a reader asks for.
#[derive(Clone, Copy)]
enum Decision {
    Role,
    Membership,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a cluster: tests/long/run failover-quorum"]
async fn roles_are_linearizable_through_failovers() {
    let setting = |name: &str| env::var(name).unwrap_or_else(|_| panic!("{name} is set"));
    let apis = |name| setting(name).split(',').map(Api::at).collect::<Vec<_>>();
    let gateways = apis("FAILOVER_GATEWAYS");
    let password = setting("FAILOVER_ADMIN_PASSWORD");
    let admin = TestUser::log_in(&gateways[0], "admin", &password).await;
    let stop = setting("FAILOVER_STOP").into();
    let group_id = memberships::create_group(&gateways[0].with_token(&admin.token)).await;
    let scenario = Arc::new(Scenario {
        gateways,
        forward_gateways: apis("FAILOVER_FORWARD_GATEWAYS"),
        admin,
        group_id,
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
            memberships: first(STRANGER),
            session,
            session_changes: first(GOOD),
        };
        let ended = Arc::new(AtomicBool::new(false));
        let mut readers = JoinSet::new();
        let mut session_readers = JoinSet::new();
        let mut membership_readers = JoinSet::new();
        for (api, forward) in self.gateways.iter().zip(&self.forward_gateways) {
            let token = &epoch.user.token;
            let by_token = api.with_token(token);
            readers.spawn(read(by_token, Decision::Role, Arc::clone(&ended)));
            let by_session = api.with_token(&epoch.session);
            session_readers.spawn(read(by_session, Decision::Role, Arc::clone(&ended)));
            let forward = forward.with_token(token);
            membership_readers.spawn(read(forward, Decision::Membership, Arc::clone(&ended)));
        }
        let mut turn = 0;
        while !self.has_ended() && epoch.unconfirmed() == 0 {
            sleep(Duration::from_millis(PAUSES[number])).await;
            turn += 1;
            let gateway = &self.gateways[(turn + number) % self.gateways.len()];
            let admin = gateway.with_token(&self.admin.token);
            epoch
                .changes
                .push(set_role(&admin, epoch.user.id, turn, outcome).await);
            let changes = self
                .change_membership(&admin, epoch.user.id, turn, outcome)
                .await;
            epoch.memberships.extend(changes);
        }
        outcome.unconfirmed_changes += epoch.unconfirmed();
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
        for (reads, unavailable) in membership_readers.join_all().await {
            outcome.checked.add(check(&epoch.memberships, &reads));
            outcome.unavailable += unavailable;
            all.extend(reads);
        }
        let name = format!("{} as a member", epoch.user.username);
        record(&name, "access token", &epoch.memberships, &all);
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

    /// Returns the users whose confirmed role or membership is not stored, or whose session is valid
    /// after its confirmed end.
    async fn lost(&self, epochs: &[Epoch]) -> Vec<String> {
        let api = self.gateways[0].with_token(&self.admin.token);
        let mut lost = Vec::new();
        for epoch in epochs {
            let stored =
                e2e::until_served(|| async { api.get(&format!("/users/{}", epoch.user.id)).await })
                    .await;
            let role = stored.json()["role"].as_str().unwrap_or(ABSENT).to_owned();
            if !is_explained(&epoch.changes, role) {
                lost.push(format!("{stored} after {:?}", epoch.changes.last()));
            }
            let (stored, state) = memberships::stored(&api, epoch.user.id).await;
            if !is_explained(&epoch.memberships, state) {
                lost.push(format!("{stored} after {:?}", epoch.memberships.last()));
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

impl Epoch {
    /// Counts the changes that may or may not have happened.
    fn unconfirmed(&self) -> usize {
        self.changes
            .iter()
            .chain(&self.memberships)
            .filter(|change| change.acknowledged.is_none())
            .count()
    }
}

impl Decision {
    fn path(self) -> String {
        match self {
            Self::Role => "/profile".to_owned(),
            Self::Membership => format!("/authorize?groups={}", memberships::GROUP),
        }
    }

    /// Returns what a response says, other than 503 and 504.
    fn state(self, response: &TestResponse) -> String {
        match (self, response.status) {
            (Self::Membership, _) => membership(response).to_owned(),
            (Self::Role, 200) => response.json()["role"].as_str().expect("a role").to_owned(),
            (Self::Role, 401) => ABSENT.to_owned(),
            (Self::Role, _) => panic!("{response}"),
        }
    }
}

async fn set_role(admin: &Api, user_id: i64, turn: usize, outcome: &mut Outcome) -> Change {
    let role = ["user", "author", "admin"][turn % 3];
    let began = Instant::now();
    let path = format!("/users/{user_id}/role");
    let response = admin.put(&path, &json!({ "role": role })).await;
    Change {
        began,
        acknowledged: outcome.add_change(&response).then(Instant::now),
        state: role,
    }
}

/// Returns whether a state that is read now agrees with the changes.
fn is_explained(changes: &[Change], state: String) -> bool {
    let now = Instant::now();
    let read = Read {
        began: now,
        ended: now,
        state,
    };
    check(changes, &[read]).stale.is_empty()
}

/// Reads until `ended` is set. Also returns the number of reads without an answer.
async fn read(api: Api, decision: Decision, ended: Arc<AtomicBool>) -> (Vec<Read>, usize) {
    let path = decision.path();
    let (mut reads, mut unavailable) = (Vec::new(), 0);
    while !ended.load(Ordering::SeqCst) {
        let began = Instant::now();
        let response = api.get(&path).await;
        if [503, 504].contains(&response.status) {
            unavailable += 1;
        } else {
            reads.push(Read {
                began,
                ended: Instant::now(),
                state: decision.state(&response),
            });
        }
        sleep(BETWEEN_READS).await;
    }
    (reads, unavailable)
}
