//! Tests backups and restores that are killed while they copy, or during which another command begins.

use super::{Own, add_author, stopped_with_backup, titles};
use e2e::{Api, Process, Program, within_bounds};
use std::fs;

/// Returns the names of the unfinished copies in a folder.
fn partial(own: &Own, folder: &str) -> Vec<String> {
    let names = fs::read_dir(own.path().join(folder)).expect("a folder");
    let names = names.map(|entry| entry.expect("read").file_name());
    let names = names.map(|name| name.into_string().expect("text"));
    names.filter(|name| name.contains(".partial")).collect()
}

/// Starts a command and freezes it while it copies into the folder. A command that ends before it is frozen is followed
/// by another, with the arguments for the next attempt.
async fn frozen(own: &Own, folder: &str, arguments: impl Fn(u32) -> Vec<String>) -> Process {
    let before = partial(own, folder);
    let is_copying = || {
        partial(own, folder)
            .iter()
            .any(|name| !before.contains(name))
    };
    let freezing = async {
        for number in 0.. {
            let (program, arguments) = (Program::FastHashRolegate, arguments(number));
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            let process = Process::start_with(program, &arguments, &own.settings, own.path());
            while !is_copying() && process.stdout().is_empty() && process.stderr().is_empty() {
                tokio::task::yield_now().await;
            }
            process.freeze();
            if is_copying() {
                return process;
            }
            process.thaw();
            assert_eq!(process.exit().await.code, Some(0));
        }
        unreachable!("it is tried until the bound");
    };
    within_bounds("a command that is frozen while it copies", freezing).await
}

#[tokio::test]
async fn killed_copies_are_removed_by_the_next_run_and_those_in_use_never() {
    let own = Own::new();
    let (process, bearer) = own.start().await;
    add_author(&own, &bearer, "ann").await;
    fs::create_dir(own.path().join("backups")).expect("created");
    let backup = |number| vec!["backup".to_owned(), format!("backups/{number}.db")];
    frozen(&own, "backups", backup).await.kill().await;
    let left = partial(&own, "backups");
    assert!(!left.is_empty() && left.iter().all(|name| name.starts_with(".rolegate-copy-")));
    let running = frozen(&own, "backups", |number| backup(number + 1000)).await;
    let in_use = partial(&own, "backups");
    assert!(
        in_use.iter().all(|name| !left.contains(name)),
        "{left:?} {in_use:?}"
    );
    own.expect(&["backup", "backups/a.db"], 0, "Both were checked.")
        .await;
    assert_eq!(partial(&own, "backups"), in_use);
    running.thaw();
    assert_eq!(running.exit().await.code, Some(0));
    assert_eq!(partial(&own, "backups"), [""; 0]);

    // A backup into the folder of the running service removes killed copies there, too.
    fs::create_dir(own.path().join("data/.rolegate-copy-killed.partial")).expect("created");
    own.expect(&["backup", "data/b.db"], 0, "Both were checked.")
        .await;
    assert_eq!(partial(&own, "data"), [""; 0]);
    process.terminate();
    process.exit().await;
    fs::create_dir(own.path().join("data/.rolegate-copy-killed.partial")).expect("created");
    own.expect(
        &["restore", "backups/a.db", "--replace"],
        0,
        "Both were checked.",
    )
    .await;
    assert_eq!(partial(&own, "data"), [""; 0]);
}

#[tokio::test]
async fn a_start_during_a_restore_waits_and_warns_of_no_other_rolegate() {
    let own = stopped_with_backup().await;
    let restore = |_| ["restore", "a.db", "--replace"].map(str::to_owned).to_vec();
    let restoring = frozen(&own, "data", restore).await;
    let starting = Process::start(Program::FastHashRolegate, &own.settings, own.path());
    starting
        .logs("the restore", |line| {
            line.contains("waiting for the database")
        })
        .await;
    restoring.thaw();
    assert_eq!(restoring.exit().await.code, Some(0));
    let started = starting.ready().await;
    assert!(
        !started.stderr().contains("another rolegate"),
        "{}",
        started.stderr()
    );
    assert_eq!(
        titles(&Api::at(&started.address("bearer"))).await,
        ["By ann"]
    );
}
