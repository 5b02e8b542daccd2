//! Tests how a process notices that uses cannot be written, and how all processes learn of the pause afterwards.

use super::super::{
    TABLES,
    usage_pauses::read_pauses,
    usage_writer::{Process, UsageWriter},
};
use crate::store::UsageKind;
use rolegate_sql_store::{Database, DatabaseUrl, FileClock};

/// The length of the outage in seconds, which exceeds the shortest `SESSION_IDLE_SECONDS`.
const OUTAGE: i64 = 400;

fn replica() -> UsageWriter {
    UsageWriter::new(UsageKind::Token, Process::Service)
}

async fn change(database: &Database, sql: &'static str) {
    database
        .write::<i64>(database.statement(sql))
        .await
        .expect(sql);
}

/// Makes all processes fail to store the times of their writes from now on.
async fn break_writes(database: &Database) {
    if !database.is_postgres() {
        let trigger = "CREATE TRIGGER broken BEFORE UPDATE ON usage_write
            BEGIN SELECT RAISE(ABORT, 'broken'); END";
        return change(database, trigger).await;
    }
    let function = "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$";
    change(database, function).await;
    let trigger = "CREATE TRIGGER broken BEFORE UPDATE ON usage_write
        FOR EACH ROW EXECUTE FUNCTION broken()";
    change(database, trigger).await;
}

async fn mend_writes(database: &Database) {
    if !database.is_postgres() {
        return change(database, "DROP TRIGGER broken").await;
    }
    change(database, "DROP TRIGGER broken ON usage_write").await;
}

/// Moves the stored time of the last write back by the length of the outage, and returns the new time.
async fn age_writes(database: &Database) -> u64 {
    let age = database
        .statement("UPDATE usage_write SET written_at = written_at - ")
        .push_bind(OUTAGE)
        .push(" RETURNING written_at");
    let aged = database.write::<i64>(age).await.expect("aged");
    aged[0].unsigned_abs()
}

async fn recorded(database: &Database) -> Vec<(u64, u64)> {
    let pauses = read_pauses(database).await.expect("read");
    pauses.iter().map(|it| (it.began, it.ended)).collect()
}

async fn a_pause_is_known_to_a_process_that_starts_within_it_and_to_all_afterwards(
    database: Database,
) {
    let outage = OUTAGE.unsigned_abs();
    let before = replica();
    before.write(&database).await;
    assert_eq!(before.failing_since(), None);
    let last_write = age_writes(&database).await;
    break_writes(&database).await;
    let within = replica();
    within.write(&database).await;
    assert_eq!(within.failing_since(), Some(last_write));
    // The outage of the process that ran before begins with its own last write, and not with the stored time.
    before.write(&database).await;
    let since = before.failing_since().expect("failing");
    assert!((last_write + outage..last_write + outage + 60).contains(&since));
    assert!(recorded(&database).await.is_empty(), "it goes on");

    mend_writes(&database).await;
    let later = replica();
    later.write(&database).await;
    assert_eq!(later.failing_since(), None);
    within.write(&database).await;
    let pauses = recorded(&database).await;
    let [(began, ended)] = pauses[..] else {
        panic!("one pause: {pauses:?}");
    };
    assert_eq!(began, last_write, "whoever wrote before");
    assert!(ended >= last_write + outage, "{pauses:?}");
    // The outage is not over yet, because other processes may write their uses a little later.
    assert_eq!(within.failing_since(), Some(last_write));
    within.write(&database).await;
    assert_eq!(within.failing_since(), None);
    assert_eq!(recorded(&database).await.len(), 1);
}

async fn a_start_after_a_time_without_processes_records_no_pause(database: Database) {
    replica().write(&database).await;
    age_writes(&database).await;
    replica().write(&database).await;
    assert!(recorded(&database).await.is_empty());
}

async fn a_command_writes_and_finds_no_pause(database: Database) {
    let last_write = age_writes(&database).await;
    let command = UsageWriter::new(UsageKind::Token, Process::Command);
    command.write(&database).await;
    assert_eq!(command.failing_since(), None);
    let read = database.statement("SELECT written_at FROM usage_write");
    let read = database.read::<i64>(read).await.expect("read");
    assert_eq!(read[0].unsigned_abs(), last_write);
}

async fn uses_that_cannot_be_written_are_a_pause_too(database: Database) {
    let replica = replica();
    replica.write(&database).await;
    // Renaming the table has the same effect as a lock on it: uses cannot be written.
    change(&database, "ALTER TABLE api_key RENAME TO away").await;
    replica.write(&database).await;
    assert!(replica.failing_since().is_some(), "without any use");
    change(&database, "ALTER TABLE away RENAME TO api_key").await;
    for _ in 0..2 {
        replica.write(&database).await;
    }
    assert_eq!(replica.failing_since(), None);
}

async fn old_pauses_and_those_of_a_clock_that_was_ahead_are_forgotten(database: Database) {
    for insert in [
        "INSERT INTO usage_pause (began, ended) VALUES (1, 2)",
        "INSERT INTO usage_pause (began, ended) VALUES (3, 9999999999)",
    ] {
        change(&database, insert).await;
    }
    let ahead = database.statement(
        "INSERT INTO usage_pause (began, ended) SELECT 5, now + 30 FROM (SELECT $NOW AS now) AS clock",
    );
    database.write::<i64>(ahead).await.expect("inserted");
    replica().write(&database).await;
    let left = recorded(&database).await;
    assert!(
        matches!(left[..], [(5, _)]),
        "a little ahead counts: {left:?}"
    );
}

macro_rules! on_both_stores {
    ($($case:ident: $sqlite:ident, $postgres:ident;)*) => {$(
        #[tokio::test]
        async fn $sqlite() {
            let folder = tempfile::tempdir().expect("a folder");
            let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
            $case(url.open(&TABLES, FileClock::Advance).await.expect("opened")).await;
        }

        #[tokio::test]
        async fn $postgres() {
            let database = postgres_cluster::Database::create().await;
            let url = Some(database.url().as_str().into());
            let url = DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL");
            $case(url.open(&TABLES, FileClock::Advance).await.expect("opened")).await;
        }
    )*};
}

on_both_stores! {
    a_pause_is_known_to_a_process_that_starts_within_it_and_to_all_afterwards:
        a_pause_is_known_to_a_process_that_starts_within_it_on_sqlite,
        a_pause_is_known_to_a_process_that_starts_within_it_on_postgres;
    a_start_after_a_time_without_processes_records_no_pause:
        a_start_after_a_time_without_processes_records_no_pause_on_sqlite,
        a_start_after_a_time_without_processes_records_no_pause_on_postgres;
    a_command_writes_and_finds_no_pause:
        a_command_writes_and_finds_no_pause_on_sqlite,
        a_command_writes_and_finds_no_pause_on_postgres;
    uses_that_cannot_be_written_are_a_pause_too:
        uses_that_cannot_be_written_are_a_pause_too_on_sqlite,
        uses_that_cannot_be_written_are_a_pause_too_on_postgres;
    old_pauses_and_those_of_a_clock_that_was_ahead_are_forgotten:
        old_pauses_and_those_of_a_clock_that_was_ahead_are_forgotten_on_sqlite,
        old_pauses_and_those_of_a_clock_that_was_ahead_are_forgotten_on_postgres;
}
