//! Tests that memberships and accounts end to the second, and only by the clock of the database, while the clocks of
//! the programs are an hour ahead and an hour behind.
//!
//! Each user gets one end after the other, one to three seconds ahead. Meanwhile requests that only a member may make
//! are sent to both programs. The clock of the database is read before each request. If it has reached the end by then,
//! the request must be refused. If it has not reached the end when a refusal arrives, the request had to be admitted.
//!
//! `END_REQUESTS` is the number of requests on each store: 1,000 by default, and 100,000 for the long form.

use super::{Machine, bearer};
use e2e::{
    ADMIN_PASSWORD, Api, DatabaseClock, OpaqueToken, Process, Store, TestDatabase, TestUser,
    for_both_stores, grpc, proof, timestamp,
};
use rolegate_proto::auth_v1::{VerifyCredentialsRequest, auth_service_client::AuthServiceClient};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinSet;
use tonic::{Code, transport::Channel};

for_both_stores!(memberships_and_accounts_end_by_the_clock_of_the_database);

/// The requests on each store, if `END_REQUESTS` is not set.
const DEFAULT_REQUESTS: usize = 1_000;
/// How many users there are. The accounts of half of them end, and the memberships of the others.
const USERS: usize = 8;
/// How long requests are sent after an end.
const AFTER_THE_END: Duration = Duration::from_secs(1);

/// One of the two programs, with an address for each way to ask.
#[derive(Clone)]
struct Replica {
    bearer: Api,
    forward: Api,
    auth: AuthServiceClient<Channel>,
}

/// What ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Membership,
    Account,
}

/// A user who is in a group of the same name until an end.
struct Subject {
    user: TestUser,
    key: OpaqueToken,
    group_id: i64,
    ending: Ending,
    /// A client of the first replica, with the access token of an admin.
    admin: Api,
    replicas: [Replica; 2],
    clock: DatabaseClock,
}

/// The requests of all users.
#[derive(Default)]
struct Judged {
    ends: usize,
    before_the_end: usize,
    after_the_end: usize,
    /// A description of each request that was admitted although its end had passed before.
    admitted_late: Vec<String>,
    /// A description of each request that was refused although its end had not passed after it.
    refused_early: Vec<String>,
}

impl Replica {
    async fn of(process: &Process) -> Self {
        Self {
            bearer: bearer(process),
            forward: Api::at(&process.address("forward")),
            auth: grpc::client(&process.address("grpc")).await,
        }
    }
}

impl Subject {
    async fn new(
        name: &str,
        ending: Ending,
        admin: Api,
        replicas: [Replica; 2],
        database: &TestDatabase,
    ) -> Self {
        let user = TestUser::register(&replicas[0].bearer, name).await;
        let key = user.key(&replicas[0].bearer).await;
        let created = admin.post("/groups", &json!({ "name": name })).await;
        let group_id = created.expect(201).json()["id"].as_i64().expect("an id");
        let subject = Self {
            user,
            key,
            group_id,
            ending,
            admin,
            replicas,
            clock: DatabaseClock::open(database).await,
        };
        let membership = subject.membership();
        subject.admin.put(&membership, &json!({})).await.expect(200);
        subject
    }

    fn account(&self) -> String {
        format!("/users/{}", self.user.id)
    }

    fn membership(&self) -> String {
        format!("/groups/{}/members/{}", self.group_id, self.user.id)
    }

    /// Gives the user one end after the other, until all users together have made enough requests.
    async fn run(mut self, requests: Arc<AtomicUsize>, wanted: usize) -> Judged {
        let mut judged = Judged::default();
        while requests.load(Ordering::Relaxed) < wanted {
            let until = self.set_end(judged.ends).await;
            self.send_requests(until, &requests, &mut judged).await;
            judged.ends += 1;
            if let Ending::Account = self.ending {
                self.revive().await;
            }
        }
        judged
    }

    /// Sets an end that is one to three seconds ahead by the clock of the database. Returns it.
    async fn set_end(&mut self, turn: usize) -> Duration {
        let ahead = if turn.is_multiple_of(2) { 2 } else { 3 };
        loop {
            let until = self.clock.now().await.as_secs() + ahead;
            let body = json!({ "until": timestamp(until) });
            let response = match self.ending {
                Ending::Membership => self.admin.put(&self.membership(), &body).await,
                Ending::Account => self.admin.patch(&self.account(), &body).await,
            };
            if response.status == 400 {
                // The request took so long that the end had passed, so it changed nothing.
                response.expect_detail(400, "End must be in the future.");
                continue;
            }
            response.expect(200);
            return Duration::from_secs(until);
        }
    }

    /// Sends requests to both replicas until the end has passed for some time.
    async fn send_requests(
        &mut self,
        until: Duration,
        requests: &AtomicUsize,
        judged: &mut Judged,
    ) {
        for turn in 0.. {
            let before = self.clock.now().await;
            if before >= until + AFTER_THE_END {
                return;
            }
            let (what, is_admitted) = self.request(turn).await;
            requests.fetch_add(1, Ordering::Relaxed);
            if before >= until {
                judged.after_the_end += 1;
                if is_admitted {
                    let late = before.saturating_sub(until);
                    judged.admitted_late.push(format!("{what}, {late:?} late"));
                }
                continue;
            }
            judged.before_the_end += 1;
            if !is_admitted {
                let left = until.saturating_sub(self.clock.now().await);
                if !left.is_zero() {
                    judged.refused_early.push(format!("{what}, {left:?} early"));
                }
            }
        }
    }

    /// Makes one request with one of the user's credentials. Returns a description of it, and whether it was admitted.
    async fn request(&self, turn: usize) -> (String, bool) {
        let replica = &self.replicas[turn % 2];
        let TestUser {
            username,
            password,
            token,
            ..
        } = &self.user;
        let way = turn / 2 % 4;
        let forward = match way {
            0 => replica.forward.with_token(token),
            1 => replica.forward.with_token(&self.key.token),
            2 => replica.forward.with_basic(username, password),
            _ => return self.verify_credentials(replica).await,
        };
        let response = forward.get(&format!("/authorize?groups={username}")).await;
        let refusal = match self.ending {
            Ending::Membership => 403,
            Ending::Account => 401,
        };
        assert!([200, refusal].contains(&response.status), "{response}");
        let what = format!("{:?}: way {way}, {response}", self.ending);
        (what, response.status == 200)
    }

    async fn verify_credentials(&self, replica: &Replica) -> (String, bool) {
        let group = &self.user.username;
        let request = VerifyCredentialsRequest {
            username: self.user.username.clone(),
            password: self.user.password.clone(),
            group_names: vec![group.clone()],
            ..VerifyCredentialsRequest::default()
        };
        let outcome = replica.auth.clone().verify_credentials(request).await;
        let what = format!("{:?}: {outcome:?}", self.ending);
        let is_admitted = match outcome {
            Ok(verified) => {
                let user = verified.into_inner().user.expect("a user");
                user.group_names.contains(group)
            }
            Err(status) => {
                assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
                false
            }
        };
        (what, is_admitted)
    }

    /// Removes the end of an account that has ended. The old access token stays revoked.
    async fn revive(&mut self) {
        let body = json!({ "until": null });
        self.admin.patch(&self.account(), &body).await.expect(200);
        let TestUser {
            username, password, ..
        } = &self.user;
        self.user = TestUser::log_in(&self.replicas[1].bearer, username, password).await;
    }
}

impl Judged {
    fn add(&mut self, other: Self) {
        self.ends += other.ends;
        self.before_the_end += other.before_the_end;
        self.after_the_end += other.after_the_end;
        self.admitted_late.extend(other.admitted_late);
        self.refused_early.extend(other.refused_early);
    }
}

async fn memberships_and_accounts_end_by_the_clock_of_the_database(store: Store) {
    let wanted = std::env::var("END_REQUESTS")
        .ok()
        .map_or(DEFAULT_REQUESTS, |text| {
            text.parse().expect("END_REQUESTS is a number of requests")
        });
    let database = TestDatabase::create(store).await;
    let machines = ["+0", "+0"].map(|clock| Machine::new(&database, store, clock));
    let [ahead, behind] = &machines;
    let processes = [ahead.start().await, behind.start().await];
    ahead.step("+3600");
    ahead.expect_clock(&processes[0], 3600).await;
    behind.step("-3600");
    behind.expect_clock(&processes[1], -3600).await;
    let replicas = [
        Replica::of(&processes[0]).await,
        Replica::of(&processes[1]).await,
    ];
    let admin = TestUser::log_in(&replicas[0].bearer, "admin", ADMIN_PASSWORD).await;
    let admin = replicas[0].bearer.with_token(&admin.token);

    let requests = Arc::new(AtomicUsize::new(0));
    let mut running = JoinSet::new();
    for number in 0..USERS {
        let ending = if number.is_multiple_of(2) {
            Ending::Membership
        } else {
            Ending::Account
        };
        let name = format!("user-{number}");
        let subject = Subject::new(&name, ending, admin.clone(), replicas.clone(), &database).await;
        running.spawn(subject.run(Arc::clone(&requests), wanted));
    }
    let mut all = Judged::default();
    while let Some(judged) = running.join_next().await {
        all.add(judged.expect("no request panicked"));
    }
    let examples = [all.admitted_late.first(), all.refused_early.first()];
    assert_eq!(
        (all.admitted_late.len(), all.refused_early.len()),
        (0, 0),
        "admitted late and refused early, such as {examples:?}"
    );
    proof(
        "ends",
        &[
            ("ends", all.ends),
            ("requests before an end", all.before_the_end),
            ("requests after an end", all.after_the_end),
        ],
        &[
            ("admitted after the end", all.admitted_late.len()),
            ("refused before it", all.refused_early.len()),
        ],
    );
}
