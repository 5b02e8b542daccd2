//! Tests of valid and invalid flags.

use super::{PROGRAM, login, spawn, start, status};
use rolegate_auth_client::testing::TestServer;
use std::{fs, panic, process::Command};

/// Expects exit code 64, an invalid setting, and returns what the program has printed on stderr.
fn refusal(arguments: &[&str]) -> String {
    let output = spawn(Command::new(PROGRAM).args(arguments))
        .wait_with_output()
        .expect("an end");
    assert_eq!(output.status.code(), Some(64), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn invalid_users_are_refused_with_one_line() {
    let twice = ["--user", "ada:a password", "--user", "ada:another"];
    for (arguments, problem) in [
        (
            &["--user", "ada"][..],
            "--user: must be NAME:PASSWORD or NAME:PASSWORD:ROLE",
        ),
        (&["--user", ""], "--user: must be NAME:PASSWORD"),
        (&["--user"], "--user: a value is missing"),
        (
            &["--user", "ada:a password:king"],
            "--user: \"ada\": refused: ROLE_INVALID",
        ),
        (
            &["--user", "ada:a password:"],
            "--user: \"ada\": refused: ROLE_INVALID",
        ),
        (
            &["--user", ":a password"],
            "--user: \"\": refused: USERNAME_INVALID",
        ),
        (
            &["--user", "ada:"],
            "--user: \"ada\": refused: PASSWORD_INVALID",
        ),
        (
            &["--user", "admin:a password"],
            "--user: \"admin\": refused: USERNAME_TAKEN",
        ),
        (&twice, "--user: \"ada\": refused: USERNAME_TAKEN"),
        (
            &["--users", "/nowhere/users"],
            "--users: /nowhere/users: No such file",
        ),
        (
            &["--session-idle-seconds", "1"],
            "SESSION_IDLE_SECONDS: must be a whole number",
        ),
        (&["--nonsense"], "--nonsense: there is no such flag"),
    ] {
        let line = refusal(arguments);
        assert!(line.starts_with(problem), "{arguments:?}: {line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

#[tokio::test]
async fn users_are_in_a_file_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.jsonl");
    let path = file.to_str().expect("UTF-8");
    let lines = "{\"username\": \"eve\", \"password\": \"a:b\", \"role\": \"author\"}\n\n\
                 {\"username\": \"kim\", \"password\": \"a password\"}\n";
    fs::write(&file, lines).expect("written");
    let server = start(&["--users", path, "--user", "ada:a:b:author"]);
    for (name, password, author) in [
        ("eve", "a:b", 200),
        ("kim", "a password", 403),
        ("ada", "a:b", 200),
    ] {
        let token = login(&server, name, password).await;
        assert_eq!(status(&server, "/author", &token).await, author, "{name}");
    }
    for (line, problem) in [
        ("{", "EOF"),
        ("[]", "expected"),
        (r#"{"username": "x"}"#, "missing field `password`"),
        (
            r#"{"username": "x", "password": "y", "roles": []}"#,
            "unknown field `roles`",
        ),
        (r#"{"username": "x", "password": 1}"#, "expected a string"),
    ] {
        fs::write(&file, format!("{lines}{line}")).expect("written");
        let refusal = refusal(&["--users", path]);
        assert!(
            refusal.starts_with(&format!("--users: {path}: ")),
            "{refusal}"
        );
        assert!(
            refusal.contains(problem) && refusal.contains(" at line 4 "),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn settings_of_the_environment_do_not_count() {
    let mut command = Command::new(PROGRAM);
    let settings = [
        "BEARER_LISTEN_ADDR",
        "SIGNING_SECRET_FILE",
        "BCRYPT_COST",
        "RUST_LOG",
    ];
    let command = command.envs(settings.map(|name| (name, "of another deployment")));
    let server = TestServer::start(command.args(["--user", "ada:a:b:c:author"]));
    let token = login(&server, "ada", "a:b:c").await;
    assert_eq!(status(&server, "/author", &token).await, 200);
}

#[test]
fn missing_program_is_explained() {
    let start = || {
        drop(TestServer::start(&mut Command::new(
            "/nowhere/rolegate-test-server",
        )));
    };
    let panic = panic::catch_unwind(start).expect_err("there is none");
    let text = panic.downcast::<String>().expect("text");
    assert!(
        text.contains("cargo install") && text.contains("ROLEGATE_TEST_SERVER"),
        "{text}"
    );
}
