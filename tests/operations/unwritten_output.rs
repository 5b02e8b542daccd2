//! Checks that every command fails, and says so, if its output cannot be written.

use crate::commands_doc::commands;
use e2e::{Process, Program};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

const PROGRAM: Program = Program::FastHashRolegate;

/// The arguments of each command, in an order in which the user ann is created, used and deleted.
const ARGUMENTS: [(&str, &[&str]); 33] = [
    ("migrate", &[]),
    ("doctor", &[]),
    ("user create", &["ann"]),
    ("user list", &[]),
    ("user show", &["ann"]),
    ("user set-role", &["ann", "author"]),
    ("user reset-password", &["ann"]),
    ("user password-link", &["ann"]),
    ("user remove-second-factor", &["ann"]),
    ("user revoke-tokens", &["ann"]),
    ("user create-key", &["ann", "--name", "deploy"]),
    ("user keys", &["ann"]),
    ("user delete-key", &["ann", "1000000"]),
    ("user disable", &["ann"]),
    ("user enable", &["ann"]),
    ("user set-until", &["ann", "2090-12-04T17:00:00Z"]),
    ("group create", &["staff"]),
    ("group list", &[]),
    ("group add", &["staff", "ann"]),
    ("group members", &["staff"]),
    ("group remove", &["staff", "ann"]),
    ("group delete", &["staff"]),
    ("user export", &[]),
    ("user import", &["users.jsonl"]),
    ("user end-all", &["--yes"]),
    ("user rename", &["ann", "anna"]),
    ("user delete", &["anna", "--yes"]),
    ("user erase-audit", &["ann"]),
    ("audit list", &[]),
    ("audit export", &[]),
    ("audit verify", &[]),
    ("backup", &["backup"]),
    ("restore", &["backup", "--replace"]),
];
/// The commands that are not run with the others. `serve` prints only a notice, `healthcheck` needs a running server,
/// and `accept-history` a history that the others do not leave.
const OTHERS: [&str; 3] = ["serve", "healthcheck", "accept-history"];

fn settings(folder: &Path) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::from([(
        "DATA_DIR".to_owned(),
        folder.join("data").display().to_string(),
    )]);
    for listener in ["BEARER", "BASIC", "FORWARD_AUTH", "AUTH", "POSTS", "OPS"] {
        let name = format!("{listener}_LISTEN_ADDR");
        settings.insert(name, "127.0.0.1:0".to_owned());
    }
    settings
}

/// Runs a command whose standard output is `/dev/full`, which fails like a full disk.
fn run_on_full_disk(arguments: &[&str], folder: &Path, further: &[(&str, &str)]) -> Output {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full disk");
    let mut child = Command::new(PROGRAM.path())
        .args(arguments)
        .env_clear()
        .envs(settings(folder))
        .envs(further.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    // A command that reads no password may already have ended, so the write may fail.
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(b"planted-password-8c1f\n");
    child.wait_with_output().expect("ended")
}

fn expect_failure(what: &str, output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{what}: {stderr}");
    assert!(
        stderr.contains("No space left on device"),
        "{what}: {stderr}"
    );
    stderr
}

#[tokio::test]
async fn a_command_whose_output_cannot_be_written_fails_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let imported = r#"{"username":"bob","password_hash":"$2b$12$uFYvDUKFVGPpFvXHqmLkouJdGA0GJuWS0oSU0/KvHGjcCwDPVpd2q"}"#;
    fs::write(folder.join("users.jsonl"), format!("{imported}\n")).expect("written");
    for command in commands(Program::Rolegate).await {
        let is_known = ARGUMENTS.iter().any(|(known, _)| *known == command);
        assert!(
            is_known || OTHERS.contains(&&*command),
            "{command} has no case"
        );
    }
    let mut secrets = 0;
    for (command, arguments) in ARGUMENTS {
        // These commands fail before they print, because ann has no second factor and no key with this id.
        if matches!(command, "user remove-second-factor" | "user delete-key") {
            continue;
        }
        let arguments: Vec<&str> = command
            .split(' ')
            .chain(arguments.iter().copied())
            .collect();
        let stderr = expect_failure(command, &run_on_full_disk(&arguments, folder, &[]));
        if stderr.contains("is created, but could not be shown") {
            assert!(stderr.contains("create another"), "{stderr}");
            secrets += 1;
        }
    }
    assert_eq!(secrets, 2, "a link and a key that nobody knows");
    for option in ["--help", "--version"] {
        expect_failure(option, &run_on_full_disk(&[option], folder, &[]));
    }
    let process = Process::start(PROGRAM, &settings(folder), folder)
        .ready()
        .await;
    process.wait_for_readiness(200).await;
    let ops = process.socket_address("ops").to_string();
    let healthcheck = run_on_full_disk(&["healthcheck"], folder, &[("OPS_LISTEN_ADDR", &ops)]);
    expect_failure("healthcheck", &healthcheck);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut child = Command::new(PROGRAM.path())
        .arg("--help")
        .env_clear()
        .envs(settings(folder))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ended");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
}
