//! Tests programs on a terminal: only there, their log is colored, and commands ask for what they need.

use e2e::{Process, Program, Store, TestDatabase, TestSetup, within_bounds};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::File,
    io::{Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    process::Stdio,
};
use tokio::process::Command;

/// `O_NOCTTY` of Linux, so that the terminal does not become the controlling terminal of the test.
const NO_CONTROLLING_TERMINAL: i32 = 0o400;

const ESCAPE: char = '\x1b';

/// Opens a pseudo-terminal, and returns the user's end and the program's end.
fn terminal() -> (File, File) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&user)
        .and_then(|()| unlockpt(&user))
        .expect("accessible");
    let path = ptsname(&user, Vec::new()).expect("it has a name");
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .custom_flags(NO_CONTROLLING_TERMINAL);
    let program = options
        .open(OsStr::from_bytes(path.as_bytes()))
        .expect("opened");
    (File::from(user), program)
}

/// Runs a program on a terminal until it logs `line`, and returns what the user has seen by then.
async fn run(program: Program, settings: &BTreeMap<String, String>, line: &'static str) -> String {
    let (mut user, terminal) = terminal();
    let stdio = || Stdio::from(terminal.try_clone().expect("cloned"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Command::new(program.path())
        .env_clear()
        .envs(settings)
        .current_dir(folder.path())
        .stdin(stdio())
        .stdout(stdio())
        .stderr(stdio())
        .kill_on_drop(true)
        .spawn()
        .expect("started");
    drop(terminal);
    let reading = tokio::task::spawn_blocking(move || {
        let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
        // After the end of the program, reading from a terminal fails.
        while let Ok(read @ 1..) = user.read(&mut buffer) {
            seen.extend_from_slice(&buffer[..read]);
            if String::from_utf8_lossy(&seen).contains(line) {
                break;
            }
        }
        String::from_utf8_lossy(&seen).into_owned()
    });
    let seen = within_bounds(line, reading).await.expect("it was read");
    child.kill().await.expect("ended");
    assert!(
        seen.contains(line),
        "{}: no {line:?} in\n{seen}",
        program.name()
    );
    seen
}

#[tokio::test]
async fn log_on_a_terminal_has_colours_unless_it_is_json_or_the_environment_forbids_them() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let settings = TestSetup::split(Store::Sqlite).auth_settings(&database.url());
    let line = "loaded the keys";
    let with = |name: &str, value: &str| {
        let mut settings = settings.clone();
        settings.insert(name.to_owned(), value.to_owned());
        settings
    };
    for coloured in [with("NO_COLOR", ""), with("CLICOLOR", "1")] {
        let seen = run(Program::AuthService, &coloured, line).await;
        assert!(seen.contains(ESCAPE), "{seen}");
    }
    for plain in [
        with("NO_COLOR", "1"),
        with("CLICOLOR", "0"),
        with("TERM", "dumb"),
        with("LOG_FORMAT", "json"),
    ] {
        let seen = run(Program::AuthService, &plain, line).await;
        assert!(!seen.contains(ESCAPE), "{seen}");
    }
}

#[tokio::test]
async fn every_program_starts_on_a_terminal_without_complaint() {
    let (users, posts) = (
        TestDatabase::create(Store::Sqlite).await,
        TestDatabase::create(Store::Sqlite).await,
    );
    let (split, whole) = (
        TestSetup::split(Store::Sqlite),
        TestSetup::all_in_one(Store::Sqlite).with_real_hashes(),
    );
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let log = |mut settings: BTreeMap<String, String>| {
        settings.insert("RUST_LOG".to_owned(), "debug".to_owned());
        settings
    };
    for (program, settings) in [
        (Program::AuthService, split.auth_settings(&users.url())),
        (
            Program::PostsService,
            split.posts_settings(&posts.posts_url(), nowhere),
        ),
        (Program::Gateway, split.gateway_settings(nowhere, None)),
        (Program::Rolegate, whole.auth_settings(&users.url())),
    ] {
        let seen = run(program, &log(settings), "/livez").await;
        let first = seen.lines().next().unwrap_or_default();
        assert!(
            !seen.contains("panicked") && !seen.contains("`ansi`"),
            "{seen}"
        );
        assert!(
            first.contains("DEBUG") || first.contains("Rolegate"),
            "{seen}"
        );
    }
}

/// Runs a command on a terminal, types each answer after its question, and returns the exit code and
/// what the user has seen.
async fn converse(
    arguments: &[&str],
    settings: &BTreeMap<String, String>,
    dialogue: &'static [(&'static str, &'static str)],
) -> (Option<i32>, String) {
    let (mut user, terminal) = terminal();
    let stdio = || Stdio::from(terminal.try_clone().expect("cloned"));
    let mut child = Command::new(Program::FastHashAuthService.path())
        .args(arguments)
        .env_clear()
        .envs(settings)
        .stdin(stdio())
        .stdout(stdio())
        .stderr(stdio())
        .kill_on_drop(true)
        .spawn()
        .expect("started");
    drop(terminal);
    let talking = tokio::task::spawn_blocking(move || {
        let (mut seen, mut buffer, mut dialogue) = (Vec::new(), [0; 4096], dialogue.iter());
        let mut next = dialogue.next();
        // After the end of the program, reading from a terminal fails.
        while let Ok(read @ 1..) = user.read(&mut buffer) {
            seen.extend_from_slice(&buffer[..read]);
            if let Some((question, answer)) = next
                && String::from_utf8_lossy(&seen).contains(question)
            {
                writeln!(user, "{answer}").expect("typed");
                next = dialogue.next();
            }
        }
        assert_eq!(
            next,
            None,
            "no such question in {}",
            String::from_utf8_lossy(&seen)
        );
        String::from_utf8_lossy(&seen).into_owned()
    });
    let seen = within_bounds("the end of the command", talking)
        .await
        .expect("it was read");
    (child.wait().await.expect("ended").code(), seen)
}

/// Creates a database with the user ann, and returns it with settings for commands on it.
async fn with_ann() -> (TestDatabase, BTreeMap<String, String>) {
    let database = TestDatabase::create(Store::Sqlite).await;
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), database.url())]);
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [&["migrate"][..], &["user", "create", "ann"]] {
        let program = Program::FastHashAuthService;
        let exit = Process::run(program, arguments, &settings, folder.path(), "sesame").await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
    }
    (database, settings)
}

const FIRST: &str = "New password (not echoed): ";
const AGAIN: &str = "The same again: ";

#[tokio::test]
async fn a_password_is_typed_twice_and_never_shown() {
    let (database, settings) = with_ann().await;
    let before = database.user("ann").await.expect("stored").password;
    let reset = ["user", "reset-password", "ann"];
    let (code, seen) = converse(
        &reset,
        &settings,
        &[(FIRST, "open-one"), (AGAIN, "open-two")],
    )
    .await;
    assert_eq!(code, Some(64), "{seen}");
    assert!(
        seen.contains("new password: was not typed the same twice"),
        "{seen}"
    );
    assert!(!seen.contains("open-"), "it is shown: {seen}");
    assert_eq!(database.user("ann").await.expect("stored").password, before);
    let (code, seen) = converse(
        &reset,
        &settings,
        &[(FIRST, "open-one"), (AGAIN, "open-one")],
    )
    .await;
    assert_eq!(code, Some(0), "{seen}");
    assert!(
        seen.contains("has the new password now") && !seen.contains("open-"),
        "{seen}"
    );
    assert_ne!(database.user("ann").await.expect("stored").password, before);
}

#[tokio::test]
async fn deleting_asks_unless_told_not_to() {
    const QUESTION: &str = "Delete user 1 (\"ann\") and every API key of that user? [y/N] ";
    let (database, settings) = with_ann().await;
    let delete = ["user", "delete", "ann"];
    for dialogue in [&[(QUESTION, "n")], &[(QUESTION, "")], &[(QUESTION, "yess")]] {
        let (code, seen) = converse(&delete, &settings, dialogue).await;
        assert_eq!(code, Some(1), "{seen}");
        assert!(seen.contains("nothing was deleted"), "{seen}");
        assert_eq!(database.count_users().await, 1);
    }
    let (code, seen) = converse(&delete, &settings, &[(QUESTION, "Y")]).await;
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(database.count_users().await, 0);
    let (_database, settings) = with_ann().await;
    let (code, seen) = converse(&["user", "delete", "ann", "--yes"], &settings, &[]).await;
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains('?'), "{seen}");
}
