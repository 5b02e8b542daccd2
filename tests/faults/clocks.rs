//! Tests hosts whose clock is wrong or steps while a program runs. Tokens and keys follow the clock of the database:
//! that of the PostgreSQL server, or the one in the SQLite file.

mod doctor;
mod ends;
mod second_factor;
mod sessions;

use e2e::{
    Api, Exit, Process, Program, SIGNING_SECRET, Store, TestDatabase, TestResponse, TestSetup,
    TestUser, for_both_stores, proof,
    token::{claims, claims_of, header, now, plain_header, signed},
};
use reqwest::Method;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path, time::UNIX_EPOCH};
use tempfile::TempDir;

for_both_stores!(
    a_step_of_the_clock_of_the_machine_changes_nothing,
    an_operator_repairs_a_lockout_and_revives_nothing,
);

const LIBRARIES: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];
const PASSWORD: &str = "password of ann";

/// A `rolegate` on a machine whose wall clock a test can set, by libfaketime. The monotonic clock stays as it is.
struct Machine {
    folder: TempDir,
    settings: BTreeMap<String, String>,
}

impl Machine {
    fn new(database: &TestDatabase, store: Store, clock: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = TestSetup::all_in_one(store).auth_settings(&database.url());
        let library = LIBRARIES.into_iter().find(|path| Path::new(path).is_file());
        let file = folder.path().join("clock").display().to_string();
        settings.extend(
            [
                (
                    "LD_PRELOAD",
                    library.expect("this test needs libfaketime: install faketime"),
                ),
                ("FAKETIME_TIMESTAMP_FILE", &file),
                ("FAKETIME_NO_CACHE", "1"),
                ("DONT_FAKE_MONOTONIC", "1"),
                ("LOG_FORMAT", "json"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let machine = Self { folder, settings };
        machine.step(clock);
        machine
    }

    /// Sets the clock to a number of seconds ahead of the true time, such as `+300`.
    fn step(&self, clock: &str) {
        let file = self.folder.path().join("clock");
        let new = file.with_extension("new");
        fs::write(&new, clock).expect("written");
        fs::rename(new, file).expect("replaced at once");
        proof("clocks", &[("settings of a clock", 1)], &[]);
    }

    async fn start(&self) -> Process {
        let program = Program::FastHashRolegate;
        Process::start(program, &self.settings, self.folder.path())
            .ready()
            .await
    }

    /// Waits until the log shows that the program reads a clock that is this many seconds ahead.
    async fn expect_clock(&self, process: &Process, ahead: i64) {
        e2e::eventually("the clock of the machine", async || {
            let refused = json!({ "username": "stranger", "password": "wrong" });
            bearer(process).post("/login", &refused).await.expect(401);
            let log = process.stderr();
            let line: Value = serde_json::from_str(log.lines().last()?).ok()?;
            let time = humantime::parse_rfc3339(line["timestamp"].as_str()?).expect("a time");
            let shown = time
                .duration_since(UNIX_EPOCH)
                .expect("after 1970")
                .as_secs();
            (shown.cast_signed() - now().cast_signed() - ahead)
                .abs()
                .le(&3)
                .then_some(())
        })
        .await;
    }
}

fn bearer(process: &Process) -> Api {
    Api::at(&process.address("bearer"))
}

async fn log_in(process: &Process) -> TestUser {
    TestUser::log_in(&bearer(process), "ann", PASSWORD).await
}

async fn log_out(process: &Process, token: &str) {
    let api = bearer(process).with_token(token);
    api.send(api.request(Method::POST, "/logout"))
        .await
        .expect(200);
}

async fn expect_good(process: &Process, token: &str) {
    let answer = bearer(process).with_token(token).get("/profile").await;
    prove_answer(answer.expect(200), 200);
}

async fn expect_ended(process: &Process, tokens: &[String]) {
    for token in tokens {
        let answer = bearer(process).with_token(token).get("/profile").await;
        prove_answer(answer.expect_detail(401, "Invalid or expired token."), 401);
    }
}

fn prove_answer(answer: &TestResponse, right: u16) {
    let wrong = usize::from(answer.status != right);
    proof(
        "clocks",
        &[("decisions about credentials", 1)],
        &[("wrong answers", wrong)],
    );
}

/// Asserts that the token expires half an hour from now.
fn expect_lifetime(token: &str) {
    let left = claims(token)["exp"].as_u64().expect("a time") - now();
    assert!((1790..=1840).contains(&left), "{left} seconds are left");
}

async fn user_command(database: &TestDatabase, arguments: &[&str]) -> Exit {
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), database.url())]);
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::FastHashAuthService;
    let exit = Process::run(program, arguments, &settings, folder.path(), "").await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    exit
}

#[tokio::test]
async fn replicas_an_hour_ahead_and_an_hour_behind_agree() {
    let database = TestDatabase::create(Store::Postgres).await;
    let machines = ["+3600", "-3600"].map(|clock| Machine::new(&database, Store::Postgres, clock));
    let [ahead, behind] = &machines;
    let replicas = [ahead.start().await, behind.start().await];
    ahead.expect_clock(&replicas[0], 3600).await;
    behind.expect_clock(&replicas[1], -3600).await;
    TestUser::register(&bearer(&replicas[0]), "ann").await;
    let mut ended = Vec::new();
    for (one, other) in [(0, 1), (1, 0), (0, 0), (1, 1)] {
        let (one, other) = (&replicas[one], &replicas[other]);
        let ann = log_in(one).await;
        expect_lifetime(&ann.token);
        for replica in &replicas {
            expect_good(replica, &ann.token).await;
            expect_ended(replica, &ended).await;
        }
        log_out(other, &ann.token).await;
        ended.push(ann.token);
    }
    let ann = log_in(&replicas[1]).await;
    let own = bearer(&replicas[0]).with_token(&ann.token);
    let body = json!({ "name": "export", "expires_at": "2099-01-01T00:00:00Z" });
    let key = own.post("/profile/keys", &body).await.expect(201).json()["key"].clone();
    let key = key.as_str().expect("a key").to_owned();
    database
        .execute("UPDATE api_key SET expires_at = date_part('epoch', now())::bigint + 60")
        .await;
    for replica in &replicas {
        expect_good(replica, &key).await;
    }
    database
        .execute("UPDATE api_key SET expires_at = floor(date_part('epoch', now()))")
        .await;
    for replica in &replicas {
        expect_ended(replica, std::slice::from_ref(&key)).await;
    }
    let used = "DO $$ BEGIN ASSERT (SELECT created_at FROM api_key)
        BETWEEN date_part('epoch', now()) - 300 AND date_part('epoch', now()); END $$";
    database.execute(used).await;
}

async fn a_step_of_the_clock_of_the_machine_changes_nothing(store: Store) {
    for (clock, ahead) in [
        ("+300", 300),
        ("-300", -300),
        ("+86400", 86_400),
        ("-86400", -86_400),
    ] {
        let database = TestDatabase::create(store).await;
        let machine = Machine::new(&database, store, "+0");
        let mut process = machine.start().await;
        TestUser::register(&bearer(&process), "ann").await;
        let before = log_in(&process).await.token;
        machine.step(clock);
        machine.expect_clock(&process, ahead).await;
        expect_good(&process, &before).await;
        let during = log_in(&process).await.token;
        expect_lifetime(&during);
        expect_good(&process, &during).await;
        log_out(&process, &during).await;
        let mut ended = vec![before, during];
        expect_ended(&process, &ended).await;
        let after = log_in(&process).await.token;
        expect_good(&process, &after).await;

        // The command runs beside the program, with the true clock of the system.
        user_command(&database, &["user", "revoke-tokens", "ann"]).await;
        ended.push(after);
        expect_ended(&process, &ended).await;
        expect_good(&process, &log_in(&process).await.token).await;

        machine.step("+0");
        machine.expect_clock(&process, 0).await;
        expect_ended(&process, &ended).await;
        for clock in [clock, "+0"] {
            process.kill().await;
            machine.step(clock);
            process = machine.start().await;
            expect_ended(&process, &ended).await;
            expect_good(&process, &log_in(&process).await.token).await;
            // The program's clock is now the true one or ahead of it, so a revocation by the command does not end later
            // tokens.
            user_command(&database, &["user", "revoke-tokens", "ann"]).await;
            expect_good(&process, &log_in(&process).await.token).await;
        }
    }
}

async fn an_operator_repairs_a_lockout_and_revives_nothing(store: Store) {
    let database = TestDatabase::create(store).await;
    let machine = Machine::new(&database, store, "+0");
    let process = machine.start().await;
    let ann = TestUser::register(&bearer(&process), "ann").await;
    database.revoke_tokens_of_ann_ten_minutes_ahead().await;
    let body = json!({ "username": "ann", "password": PASSWORD });
    let refused = bearer(&process).post("/login", &body).await;
    refused.expect_detail(
        503,
        "The clock is behind the time of the user's last revocation.",
    );
    let wait: u64 = refused
        .header("retry-after")
        .and_then(|it| it.parse().ok())
        .expect("a number");
    assert!((500..=600).contains(&wait), "{wait}");
    process
        .logs("the refused login", |line| {
            line.contains("user revoke-tokens") && line.contains("user_id")
        })
        .await;
    let found = Process::run(
        Program::FastHashRolegate,
        &["doctor"],
        &machine.settings,
        machine.folder.path(),
        "",
    );
    let found = found.await;
    assert!(
        found
            .stdout
            .contains("behind the last revocation of 1 user(s)"),
        "{found:?}"
    );

    // This token was issued by the clock that was ahead, after the time that an ordinary revocation would store now.
    let mut between = claims_of(ann.id);
    between["exp"] = (now() + 45 + 1800).into();
    let between = vec![signed(&plain_header(), &between, SIGNING_SECRET)];
    expect_ended(&process, &between).await;
    user_command(&database, &["user", "revoke-tokens", "ann"]).await;
    let new = log_in(&process).await.token;
    expect_good(&process, &new).await;
    expect_lifetime(&new);
    expect_ended(&process, &between).await;
    assert_eq!(claims(&new).as_object().expect("an object").len(), 4);
    assert!(header(&new)["marked_until"].is_u64(), "{new}");
    log_out(&process, &new).await;
    expect_ended(&process, &[new]).await;
    expect_good(&process, &log_in(&process).await.token).await;
}

/// Hides the server's functions that read its clock behind others. `fake.step` has the number of seconds by which these
/// are ahead.
async fn fake_server_clock(database: &TestDatabase) {
    database
        .execute(
            "CREATE SCHEMA fake;
            CREATE TABLE fake.step (seconds double precision);
            INSERT INTO fake.step VALUES (0);
            CREATE FUNCTION fake.now() RETURNS timestamptz LANGUAGE sql STABLE AS
                'SELECT pg_catalog.now() + make_interval(secs => seconds) FROM fake.step';
            CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
                'SELECT pg_catalog.clock_timestamp() + make_interval(secs => seconds) FROM fake.step';
            DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, fake, pg_catalog',
                current_database()); END $$",
        )
        .await;
}

#[tokio::test]
async fn a_revocation_holds_after_a_failover_to_a_clock_two_seconds_behind() {
    let database = TestDatabase::create(Store::Postgres).await;
    fake_server_clock(&database).await;
    let machine = Machine::new(&database, Store::Postgres, "+0");
    let process = machine.start().await;
    TestUser::register(&bearer(&process), "ann").await;
    let mut ended = Vec::new();
    for _ in 0..3 {
        database.execute("UPDATE fake.step SET seconds = 0").await;
        let ann = log_in(&process).await;
        database.execute("UPDATE fake.step SET seconds = -2").await;
        expect_good(&process, &ann.token).await;
        log_out(&process, &ann.token).await;
        ended.push(ann.token);
        expect_ended(&process, &ended).await;
        expect_good(&process, &log_in(&process).await.token).await;
        database.execute("UPDATE fake.step SET seconds = 0").await;
        expect_ended(&process, &ended).await;
    }
    // This proves that the service reads the faked clock at all.
    let ann = log_in(&process).await;
    database
        .execute("UPDATE fake.step SET seconds = 1900")
        .await;
    expect_ended(&process, &[ann.token]).await;
}
