//! Tests sessions when clocks step. Their limits follow the clock of the database, too.

use super::{Machine, bearer, expect_ended, expect_good, fake_server_clock, log_out};
use e2e::{Store, TestDatabase, TestUser, for_both_stores};

for_both_stores!(
    a_step_of_the_clock_of_the_machine_ends_no_session,
    a_session_that_idled_out_by_a_clock_that_was_ahead_does_not_live_again,
);

/// The clock step of a day, which is longer than a session may be idle.
const DAY: &str = "+86400";

async fn a_step_of_the_clock_of_the_machine_ends_no_session(store: Store) {
    let database = TestDatabase::create(store).await;
    let machine = Machine::new(&database, store, "+0");
    let process = machine.start().await;
    let ann = TestUser::register(&bearer(&process), "ann").await;
    let before = ann.session(&bearer(&process)).await.token;
    let mut ended = Vec::new();
    for (clock, ahead) in [(DAY, 86_400), ("-86400", -86_400), ("+0", 0)] {
        machine.step(clock);
        machine.expect_clock(&process, ahead).await;
        expect_good(&process, &before).await;
        let during = ann.session(&bearer(&process)).await.token;
        expect_good(&process, &during).await;
        log_out(&process, &during).await;
        ended.push(during);
        expect_ended(&process, &ended).await;
    }
}

async fn a_session_that_idled_out_by_a_clock_that_was_ahead_does_not_live_again(store: Store) {
    let database = TestDatabase::create(store).await;
    if store == Store::Postgres {
        fake_server_clock(&database).await;
    }
    let machine = Machine::new(&database, store, "+0");
    let mut process = machine.start().await;
    let ann = TestUser::register(&bearer(&process), "ann").await;
    let sessions = [
        ann.session(&bearer(&process)).await,
        ann.session(&bearer(&process)).await,
    ];
    let ended = sessions.map(|session| session.token);
    for session in &ended {
        expect_good(&process, session).await;
    }
    // The process is killed, so that it cannot store the uses that it has noted.
    process.kill().await;
    advance_by_a_day(store, &database, &machine).await;
    process = machine.start().await;
    expect_ended(&process, &ended).await;
    let during = ann.session(&bearer(&process)).await.token;
    expect_good(&process, &during).await;
    process.kill().await;
    correct(store, &database, &machine).await;
    for _ in 0..2 {
        process = machine.start().await;
        expect_ended(&process, &ended).await;
        expect_good(&process, &ann.session(&bearer(&process)).await.token).await;
        process.kill().await;
    }
}

/// Advances the clock of the database: that of the server, or that of the machine, which the clock in the file follows.
async fn advance_by_a_day(store: Store, database: &TestDatabase, machine: &Machine) {
    match store {
        Store::Postgres => {
            database
                .execute("UPDATE fake.step SET seconds = 86400")
                .await;
        }
        Store::Sqlite => machine.step(DAY),
    }
}

async fn correct(store: Store, database: &TestDatabase, machine: &Machine) {
    match store {
        Store::Postgres => database.execute("UPDATE fake.step SET seconds = 0").await,
        Store::Sqlite => {
            machine.step("+0");
            let boot = "UPDATE clock SET boot = 'another', latest = unixepoch() * 1000";
            database.execute(boot).await;
        }
    }
}
