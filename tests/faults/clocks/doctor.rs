//! Tests what `doctor` reports about the clock in an SQLite file.

use super::{Machine, bearer, expect_good, log_in, log_out};
use e2e::{Exit, Process, Program, Store, TestDatabase, TestUser};
use std::time::{Duration, Instant};

/// Returns by how many seconds the machine's clock is behind, as `doctor` reports it, or `None` without a line about
/// clocks.
async fn reported(machine: &Machine) -> Option<u64> {
    let (program, folder) = (Program::FastHashRolegate, machine.folder.path());
    let found: Exit = Process::run(program, &["doctor"], &machine.settings, folder, "").await;
    assert!(!found.stdout.contains("cannot log in"), "{found:?}");
    let line = found
        .stdout
        .lines()
        .find(|line| line.contains("the clock of the database"));
    assert_eq!(found.code, Some(i32::from(line.is_some())), "{found:?}");
    line.map(|line| {
        let problem = line
            .strip_prefix("FAILED clock")
            .expect("it fails")
            .trim_start();
        let (seconds, advice) = problem.split_once(" seconds behind ").expect(line);
        assert!(
            advice.ends_with("for an SQLite file see Clocks in docs/backup-and-recovery.md"),
            "{line}"
        );
        seconds.parse().expect(line)
    })
}

#[tokio::test]
async fn a_stored_clock_that_is_ahead_fails_and_locks_no_user_out() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let machine = Machine::new(&database, Store::Sqlite, "+600");
    let mut process = machine.start().await;
    TestUser::register(&bearer(&process), "ann").await;
    let ended = log_in(&process).await.token;
    log_out(&process, &ended).await;
    // The time for which the clock in the file stood still, until a program was started.
    let mut pause = Duration::ZERO;
    let is_ten_minutes = |behind: Option<u64>, pause: Duration| {
        let least = 598 - pause.as_secs();
        behind.is_some_and(|behind| (least..=601).contains(&behind))
    };
    process.kill().await;
    machine.step("+0");
    for _ in 0..2 {
        assert!(is_ten_minutes(reported(&machine).await, pause));
        process = machine.start().await;
        let is_warning = |line: &str| line.contains("WARN") && line.contains("seconds ahead of");
        process.logs("the clock of the file", is_warning).await;
        expect_good(&process, &log_in(&process).await.token).await;
        assert!(
            is_ten_minutes(reported(&machine).await, pause),
            "the clock never goes back"
        );
        process.kill().await;
        // The file now looks as after a boot of a machine whose clock is right again.
        let stopped = Instant::now();
        let boot = "UPDATE clock SET boot = 'another', latest = (unixepoch() + 600) * 1000";
        database.execute(boot).await;
        assert_eq!(
            reported(&machine).await,
            None,
            "the clock stands still until a start"
        );
        process = machine.start().await;
        pause = stopped.elapsed();
        process.kill().await;
    }
}
