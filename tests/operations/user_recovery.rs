//! Tests `auth-service user password-link` and `user remove-second-factor`, and the second-factor key that `rolegate`
//! generates.

use crate::{doctor::expect_line, user_commands::user};
use e2e::{Api, Exit, Process, Program, TestApp, TestSetup, TestUser, for_two_deployments};
use serde_json::json;
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _};

for_two_deployments!(
    printed_link_sets_a_password_once_and_replaces_the_one_before,
    removed_second_factor_asks_for_no_code,
);

const NEW_PASSWORD: &str = "planted-new-password-9d3a";

#[track_caller]
fn audited(exit: &Exit, event: &str) {
    let line = exit
        .stderr
        .lines()
        .find(|line| line.contains("audit"))
        .unwrap_or_default();
    assert!(
        line.contains(event) && line.contains("operator"),
        "{exit:?}"
    );
}

async fn expect_refused(app: &TestApp, cases: &[(&[&str], i32, &str)]) {
    for (arguments, code, message) in cases {
        let exit = user(app, arguments, "", &[]).await;
        assert_eq!(exit.code, Some(*code), "{arguments:?}: {exit:?}");
        assert!(
            exit.stderr.contains(message) && exit.stdout.is_empty(),
            "{arguments:?}: {exit:?}"
        );
    }
}

async fn printed_link_sets_a_password_once_and_replaces_the_one_before(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let link = async |more: &[(&str, &str)], page: &str| {
        let exit = user(&app, &["password-link", "ann"], "", more).await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        let line = exit.stdout.strip_suffix('\n').expect("a line");
        let (address, token) = line.split_once('#').expect("a fragment");
        assert!(
            address == page && token.len() == 47 && token.starts_with("rgl_"),
            "{exit:?}"
        );
        assert!(
            !exit.stderr.contains(token),
            "the log shows the link: {exit:?}"
        );
        assert!(
            exit.stderr.contains("It is good once, until 20"),
            "{exit:?}"
        );
        audited(&exit, "password_link_created");
        token.to_owned()
    };
    let page = [("SIGN_IN_URL", "https://auth.example.org/a/sign-in")];
    let first = link(&page, "https://auth.example.org/set-password").await;
    let second = link(&[], "/set-password").await;
    let redeem = async |token: &str| {
        app.bearer
            .put(
                "/password",
                &json!({ "token": token, "password": NEW_PASSWORD }),
            )
            .await
    };
    redeem(&first)
        .await
        .expect_detail(400, "Invalid or expired link.");
    app.try_log_in("ann", &ann.password).await.expect(200);
    redeem(&second)
        .await
        .expect_message("Password updated successfully.");
    app.try_log_in("ann", &ann.password).await.expect(401);
    app.try_log_in("ann", NEW_PASSWORD).await.expect(200);
    redeem(&second)
        .await
        .expect_detail(400, "Invalid or expired link.");
    expect_refused(
        &app,
        &[
            (
                &["password-link", "stranger"],
                1,
                "there is no user \"stranger\"",
            ),
            (&["password-link", "Ann"], 1, "there is no user \"Ann\""),
            (&["password-link"], 64, "USERNAME: is required"),
        ],
    )
    .await;
}

async fn removed_second_factor_asks_for_no_code(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let run = async |arguments: &[&str]| {
        let exit = user(&app, arguments, "", &[]).await;
        assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
        exit
    };
    ann.begin_second_factor(&app.bearer).await;
    let not_on = "the second factor of the user \"ann\" is not on";
    expect_refused(
        &app,
        &[
            (&["remove-second-factor", "ann"], 1, not_on),
            (
                &["remove-second-factor", "stranger"],
                1,
                "there is no user \"stranger\"",
            ),
            (&["remove-second-factor"], 64, "USERNAME: is required"),
        ],
    )
    .await;
    ann.turn_on_second_factor(&app.bearer).await;
    app.try_log_in("ann", &ann.password)
        .await
        .expect_detail(401, "One-time code required.");
    assert!(
        run(&["show", "ann"])
            .await
            .stdout
            .ends_with("\"ann\"  (second factor)\n")
    );
    // The second factor is not exported, so the exported hash must not carry its mark either.
    let stored = app.database.user("ann").await.expect("stored").password;
    let hash = stored.strip_prefix("otp:").expect("a mark");
    let exported = run(&["export"]).await.stdout;
    assert!(
        exported.contains(hash) && !exported.contains("otp:"),
        "{exported}"
    );
    let removed = run(&["remove-second-factor", "ann"]).await;
    let said = format!("User {} (\"ann\") has no second factor now.\n", ann.id);
    assert_eq!(removed.stdout, said);
    audited(&removed, "second_factor_removed");
    assert_eq!(
        app.database.user("ann").await.expect("stored").password,
        hash
    );
    TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    expect_refused(&app, &[(&["remove-second-factor", "ann"], 1, not_on)]).await;
}

#[tokio::test]
async fn rolegate_generates_a_key_of_second_factors_also_in_a_folder_without_one() {
    let addresses = ["BEARER", "BASIC", "FORWARD_AUTH", "AUTH", "POSTS", "OPS"]
        .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()));
    let mut settings = BTreeMap::from(addresses);
    settings.insert("SECOND_FACTOR".to_owned(), "admins".to_owned());
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let doctor = async |settings: &BTreeMap<String, String>| {
        let program = Program::FastHashRolegate;
        let exit = Process::run(program, &["doctor"], settings, folder, "").await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        expect_line(&exit, "ok", "factors   users can turn one on");
    };
    let start = async |settings: &BTreeMap<String, String>| {
        Process::start(Program::FastHashRolegate, settings, folder)
            .ready()
            .await
    };
    let key = folder.join("data/second-factor-key");
    doctor(&settings).await;
    assert!(!folder.join("data").exists(), "doctor creates nothing");
    let mut given = settings.clone();
    given.insert("SECOND_FACTOR_KEY".to_owned(), "k".repeat(32));
    start(&given).await.kill().await;
    assert!(!key.exists(), "there is a key in the settings");

    // Without the key, the folder looks as the previous version left it.
    doctor(&settings).await;
    start(&settings).await.kill().await;
    let made = fs::read_to_string(&key).expect("generated");
    assert_eq!(
        fs::metadata(&key).expect("there").permissions().mode() & 0o777,
        0o600
    );
    doctor(&settings).await;
    let mut process = start(&settings).await;
    assert_eq!(fs::read_to_string(&key).expect("kept"), made);
    let bearer = Api::at(&process.address("bearer"));
    let ann = TestUser::register(&bearer, "ann").await;
    ann.turn_on_second_factor(&bearer).await;
    assert!(
        !process.stderr().contains(made.trim()),
        "the log shows the key"
    );

    // The database was restored without the key file. doctor reports the error that the next start would report.
    process.kill().await;
    fs::remove_file(&key).expect("removed");
    let exit = Process::run(
        Program::FastHashRolegate,
        &["doctor"],
        &settings,
        folder,
        "",
    )
    .await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(
        &exit,
        "FAILED",
        "factors   SECOND_FACTOR_KEY: cannot decrypt a user's second factor",
    );
}
