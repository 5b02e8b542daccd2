//! Tests sessions at two replicas, which share nothing but the database.

use e2e::{
    ADMIN_PASSWORD, Api, OpaqueToken, Process, Store, TestDatabase, TestSetup, TestUser,
    eventually, for_both_stores,
};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};
use tokio::task::JoinSet;

for_both_stores!(
    a_session_is_good_and_ended_at_the_other_replica_with_the_next_request,
    a_session_that_is_used_at_one_replica_only_is_not_idle_for_the_other,
    a_session_that_one_replica_ended_as_idle_lives_at_no_other,
    no_session_that_is_made_beside_a_new_password_or_a_disabling_is_left,
    a_session_in_use_at_one_replica_ends_at_no_other_when_uses_could_not_be_written,
);

const LANES: usize = 4;
/// How many sessions are tested on each store. Both stores together make a thousand.
const SESSIONS: usize = 500;
/// The shortest idle limit that the setting allows.
const IDLE_SECONDS: &str = "300";

struct Replicas {
    a: Process,
    b: Process,
    setup: TestSetup,
    settings: BTreeMap<String, String>,
    database: TestDatabase,
}

impl Replicas {
    async fn start(store: Store) -> Self {
        let setup = TestSetup::all_in_one(store).with("SESSION_IDLE_SECONDS", IDLE_SECONDS);
        let database = TestDatabase::create(store).await;
        let mut settings = setup.auth_settings(&database.url());
        let posts = database.posts_url();
        settings.insert("POSTS_DATABASE_URL".to_owned(), posts);
        let a = start(&setup, &settings).await;
        let b = start(&setup, &settings).await;
        Self {
            a,
            b,
            setup,
            settings,
            database,
        }
    }

    fn apis(&self) -> [Api; 2] {
        [bearer(&self.a), bearer(&self.b)]
    }

    /// Replaces A by another process. The old one stores when sessions were used before it ends.
    async fn restart_a(&mut self) {
        let a = start(&self.setup, &self.settings).await;
        let old = std::mem::replace(&mut self.a, a);
        old.terminate();
        let exit = old.exit().await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
    }

    /// Moves all times of sessions 200 seconds into the past. Once is less than the idle limit, and twice is more.
    async fn age_sessions(&self) {
        let sql = "UPDATE api_key SET created_at = created_at - 200,
            last_used_at = last_used_at - 200 WHERE session_user_id IS NOT NULL";
        self.database.execute(sql).await;
    }

    /// Moves everything that is stored about the use of sessions 400 seconds into the past, as if nothing had been
    /// written since.
    async fn age_all_writes(&self) {
        let sql = "UPDATE api_key SET created_at = created_at - 400,
                last_used_at = last_used_at - 400 WHERE session_user_id IS NOT NULL;
            UPDATE usage_write SET written_at = written_at - 400;
            UPDATE usage_pause SET began = began - 400, ended = ended - 400";
        self.database.execute(sql).await;
    }

    /// Makes every later write of the use of sessions fail.
    async fn break_writes(&self, store: Store) {
        let sql = match store {
            Store::Sqlite => {
                "CREATE TRIGGER broken BEFORE UPDATE ON usage_write
                BEGIN SELECT RAISE(ABORT, 'broken'); END"
            }
            Store::Postgres => {
                "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql
                    AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$;
                CREATE TRIGGER broken BEFORE UPDATE ON usage_write
                    FOR EACH ROW EXECUTE FUNCTION broken()"
            }
        };
        self.database.execute(sql).await;
    }

    async fn mend_writes(&self, store: Store) {
        let sql = match store {
            Store::Sqlite => "DROP TRIGGER broken",
            Store::Postgres => "DROP TRIGGER broken ON usage_write",
        };
        self.database.execute(sql).await;
    }

    async fn wait_for_pauses(&self) {
        eventually("the pause to be recorded", async || {
            let pauses = "SELECT 1 FROM usage_pause WHERE ended > began + 300";
            (self.database.count_rows(pauses).await > 0).then_some(())
        })
        .await;
    }

    /// Undoes two calls of [`Self::age_sessions`].
    async fn rejuvenate_sessions(&self) {
        let sql = "UPDATE api_key SET created_at = created_at + 400,
            last_used_at = last_used_at + 400 WHERE session_user_id IS NOT NULL";
        self.database.execute(sql).await;
    }
}

async fn start(setup: &TestSetup, settings: &BTreeMap<String, String>) -> Process {
    Process::start(setup.auth_program(), settings, &std::env::temp_dir())
        .ready()
        .await
}

fn bearer(process: &Process) -> Api {
    Api::at(&process.address("bearer"))
}

async fn expect_good(api: &Api, session: &OpaqueToken) {
    api.with_token(&session.token)
        .get("/profile")
        .await
        .expect(200);
}

async fn expect_ended(api: &Api, session: &OpaqueToken) {
    let refused = api.with_token(&session.token).get("/profile").await;
    refused.expect_detail(401, "Invalid or expired token.");
}

async fn a_session_is_good_and_ended_at_the_other_replica_with_the_next_request(store: Store) {
    let replicas = Replicas::start(store).await;
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let apis = Arc::new(replicas.apis());
        let user = TestUser::register(&apis[0], &format!("user {lane}")).await;
        lanes.spawn(async move {
            for number in 0..SESSIONS / LANES {
                let (a, b) = (&apis[number % 2], &apis[1 - number % 2]);
                let session = user.session(a).await;
                expect_good(b, &session).await;
                let (own, id) = (a.with_token(&user.token), session.id);
                match number % 3 {
                    0 => a.with_token(&session.token).log_out().await,
                    1 => drop(
                        own.delete(&format!("/profile/sessions/{id}"))
                            .await
                            .expect(200),
                    ),
                    _ => drop(own.delete("/profile/sessions").await.expect(200)),
                }
                expect_ended(b, &session).await;
            }
        });
    }
    lanes.join_all().await;
}

async fn a_session_that_is_used_at_one_replica_only_is_not_idle_for_the_other(store: Store) {
    let mut replicas = Replicas::start(store).await;
    let user = TestUser::register(&bearer(&replicas.a), "ann").await;
    let (in_use, idle) = (
        user.session(&bearer(&replicas.a)).await,
        user.session(&bearer(&replicas.a)).await,
    );
    for _ in 0..3 {
        replicas.age_sessions().await;
        expect_good(&bearer(&replicas.a), &in_use).await;
        replicas.restart_a().await;
    }
    expect_good(&bearer(&replicas.b), &in_use).await;
    expect_ended(&bearer(&replicas.b), &idle).await;
}

async fn a_session_that_one_replica_ended_as_idle_lives_at_no_other(store: Store) {
    let replicas = Replicas::start(store).await;
    let [a, b] = replicas.apis();
    let user = TestUser::register(&a, "ann").await;
    let (ended, idle) = (user.session(&a).await, user.session(&a).await);
    for _ in 0..2 {
        replicas.age_sessions().await;
    }
    expect_ended(&b, &ended).await;
    replicas.rejuvenate_sessions().await;
    expect_ended(&a, &ended).await;
    // This session got no request at B and is still valid. It was therefore the request at B that ended the other one.
    expect_good(&a, &idle).await;
}

/// Creates sessions while a password is changed or a user is disabled. Whichever comes first, no session may be left:
/// the change ends it or prevents it.
async fn no_session_that_is_made_beside_a_new_password_or_a_disabling_is_left(store: Store) {
    let replicas = Replicas::start(store).await;
    let [a, b] = replicas.apis();
    let admin = TestUser::log_in(&b, "admin", ADMIN_PASSWORD).await;
    let admin = b.with_token(&admin.token);
    let mut count = 0;
    for round in 0..20 {
        let user = TestUser::register(&a, &format!("user {round}")).await;
        let path = format!("/users/{}", user.id);
        let set_disabled = async |disabled: bool| {
            let request = admin.request(Method::PATCH, &path);
            admin
                .send(request.json(&json!({ "disabled": disabled })))
                .await
                .expect(200);
        };
        let change = async {
            if round % 2 == 0 {
                return set_disabled(true).await;
            }
            let password = json!({ "password": "new" });
            admin
                .put(&format!("{path}/password"), &password)
                .await
                .expect(200);
        };
        let body = json!({ "username": user.username, "password": user.password });
        let (created, ()) =
            tokio::join!(join_all((0..8).map(|_| a.post("/sessions", &body))), change);
        set_disabled(false).await;
        for created in created {
            assert!([201, 401].contains(&created.status), "{created}");
            if created.status == 201 {
                count += 1;
                let token = created.json()["token"]
                    .as_str()
                    .expect("a token")
                    .to_owned();
                a.with_token(&token).get("/profile").await.expect(401);
            }
        }
    }
    assert!(count > 0, "no session was made before the change");
}

/// Waits until this process has failed to write when sessions were used.
async fn wait_for_failure(process: &Process) {
    eventually("a write of uses to fail", async || {
        process
            .stderr()
            .contains("cannot write when tokens were used")
            .then_some(())
    })
    .await;
}

async fn a_session_in_use_at_one_replica_ends_at_no_other_when_uses_could_not_be_written(
    store: Store,
) {
    let mut replicas = Replicas::start(store).await;
    let user = TestUser::register(&bearer(&replicas.a), "ann").await;
    let idle = user.session(&bearer(&replicas.a)).await;
    replicas.age_sessions().await;
    replicas.age_sessions().await;
    let in_use = user.session(&bearer(&replicas.a)).await;
    expect_good(&bearer(&replicas.a), &in_use).await;
    // The outage begins, and only A knows which sessions are used in it.
    replicas.age_all_writes().await;
    replicas.break_writes(store).await;
    expect_good(&bearer(&replicas.a), &in_use).await;
    // B is restarted during the outage.
    replicas.b.kill().await;
    replicas.b = start(&replicas.setup, &replicas.settings).await;
    wait_for_failure(&replicas.b).await;
    expect_good(&bearer(&replicas.b), &in_use).await;
    expect_ended(&bearer(&replicas.b), &idle).await;

    replicas.mend_writes(store).await;
    expect_good(&bearer(&replicas.b), &in_use).await;
    replicas.wait_for_pauses().await;
    // The noted uses are lost, and the stored time of the last use is older than the idle limit. Only the recorded
    // pause keeps the session alive.
    for process in [&mut replicas.a, &mut replicas.b] {
        process.kill().await;
    }
    replicas.a = start(&replicas.setup, &replicas.settings).await;
    let sql = "UPDATE api_key SET last_used_at = NULL WHERE session_user_id IS NOT NULL";
    replicas.database.execute(sql).await;
    expect_good(&bearer(&replicas.a), &in_use).await;
    // A session that is not used after the outage expires as usual.
    let unused = user.session(&bearer(&replicas.a)).await;
    replicas.age_all_writes().await;
    expect_ended(&bearer(&replicas.a), &unused).await;
}
