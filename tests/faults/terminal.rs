//! Programs on a terminal: their log has colours there, and only there.

use e2e::{Program, Store, TestDatabase, TestSetup, within_bounds};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::File,
    io::Read as _,
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    process::Stdio,
};
use tokio::process::Command;

/// `O_NOCTTY` of Linux: the terminal must not become that of the test.
const NO_CONTROLLING_TERMINAL: i32 = 0o400;

const ESCAPE: char = '\x1b';

/// Both ends of a new pseudo-terminal: the user's and the program's.
fn terminal() -> (File, File) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&user).and_then(|()| unlockpt(&user)).expect("accessible");
    let path = ptsname(&user, Vec::new()).expect("it has a name");
    let mut options = File::options();
    options.read(true).write(true).custom_flags(NO_CONTROLLING_TERMINAL);
    let program = options.open(OsStr::from_bytes(path.as_bytes())).expect("opened");
    (File::from(user), program)
}

/// Runs a program on a terminal until it logs `line`, and returns what the user has seen then.
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
    assert!(seen.contains(line), "{}: no {line:?} in\n{seen}", program.name());
    seen
}

#[tokio::test]
async fn log_on_a_terminal_has_colours_unless_it_is_json_or_no_color_is_set() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let settings = TestSetup::split(Store::Sqlite).auth_settings(&database.url());
    let line = "loaded the keys";
    let with = |name: &str, value: &str| {
        let mut settings = settings.clone();
        settings.insert(name.to_owned(), value.to_owned());
        settings
    };
    let coloured = with("NO_COLOR", "");
    let seen = run(Program::AuthService, &coloured, line).await;
    assert!(seen.contains(ESCAPE), "{seen}");
    for plain in [with("NO_COLOR", "1"), with("LOG_FORMAT", "json")] {
        let seen = run(Program::AuthService, &plain, line).await;
        assert!(!seen.contains(ESCAPE), "{seen}");
    }
}

#[tokio::test]
async fn every_program_starts_on_a_terminal_without_complaint() {
    let (users, posts) =
        (TestDatabase::create(Store::Sqlite).await, TestDatabase::create(Store::Sqlite).await);
    let (split, whole) =
        (TestSetup::split(Store::Sqlite), TestSetup::all_in_one(Store::Sqlite).with_real_hashes());
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let log = |mut settings: BTreeMap<String, String>| {
        settings.insert("RUST_LOG".to_owned(), "debug".to_owned());
        settings
    };
    for (program, settings) in [
        (Program::AuthService, split.auth_settings(&users.url())),
        (Program::PostsService, split.posts_settings(&posts.posts_url(), nowhere)),
        (Program::Gateway, split.gateway_settings(nowhere, None)),
        (Program::Rolegate, whole.auth_settings(&users.url())),
    ] {
        let seen = run(program, &log(settings), "/livez").await;
        let first = seen.lines().next().unwrap_or_default();
        assert!(!seen.contains("panicked") && !seen.contains("`ansi`"), "{seen}");
        assert!(first.contains("DEBUG") || first.contains("Rolegate"), "{seen}");
    }
}
