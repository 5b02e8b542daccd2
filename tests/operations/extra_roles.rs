//! Tests `EXTRA_ROLES`: commands accept these roles, and a program does not start if a role that a user still has is
//! missing.

use crate::{
    doctor::expect_line,
    user_commands::{user, without_times},
};
use e2e::{Exit, Process, TestApp, TestSetup, for_two_deployments};
use serde_json::json;
use std::collections::BTreeMap;

for_two_deployments!(
    commands_take_extra_roles_and_no_others,
    a_role_that_users_or_keys_have_is_not_taken_away,
);

const ROLES: (&str, &str) = ("EXTRA_ROLES", "editor,night-shift_2");
const PASSWORD: &str = "planted-new-password-5b1e";

async fn run(app: &TestApp, arguments: &[&str]) -> Exit {
    let exit = user(app, arguments, PASSWORD, &[ROLES]).await;
    assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
    exit
}

async fn commands_take_extra_roles_and_no_others(setup: TestSetup) {
    let app = setup.with(ROLES.0, ROLES.1).start().await;
    let created = run(&app, &["create", "ann", "--role", "editor"]).await;
    assert_eq!(
        created.stdout,
        "User 2 (\"ann\") is created, with the role editor.\n"
    );
    let set = run(&app, &["set-role", "ann", "night-shift_2"]).await;
    assert_eq!(
        set.stdout,
        "User 2 (\"ann\") has the role night-shift_2 now; it was editor.\n"
    );
    let line = |name, role| json!({ "username": name, "password_hash": null, "role": role });
    let (bob, carl) = (
        line("bob", "editor").to_string(),
        line("carl", "auditor").to_string(),
    );
    let imported = user(&app, &["import", "-"], &bob, &[ROLES]).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    run(
        &app,
        &[
            "create-key",
            "ann",
            "--name",
            "nightly",
            "--role",
            "night-shift_2",
        ],
    )
    .await;

    let listed = [
        "      ID  ROLE           STATE     USERNAME",
        "       1  admin          enabled   \"admin\"",
        "       2  night-shift_2  enabled   \"ann\"",
        "       3  editor         enabled   \"bob\"  (no password)",
    ];
    let list = without_times(&run(&app, &["list"]).await.stdout);
    assert_eq!(list.lines().collect::<Vec<_>>(), listed);
    let keys = run(&app, &["keys", "ann"]).await.stdout;
    let columns: Vec<_> = keys.lines().map(|line| line.get(20..35)).collect();
    assert_eq!(
        columns,
        [Some("ROLE           "), Some("night-shift_2  ")],
        "{keys}"
    );
    // An export with extra roles can be imported again.
    let exported = run(&app, &["export"]).await.stdout;
    assert!(exported.contains(r#""role":"night-shift_2""#), "{exported}");

    let three = "ROLE: must be one of: user, author, admin\n";
    let all = "ROLE: must be one of: user, author, admin, editor, night-shift_2\n";
    for (role, settings, problem) in [
        ("editor", &[][..], three),
        ("auditor", &[ROLES], all),
        ("Editor", &[ROLES], all),
        ("", &[ROLES], all),
    ] {
        for arguments in [
            &["set-role", "ann", role][..],
            &["create", "carl", "--role", role],
            &["create-key", "ann", "--name", "a", "--role", role],
        ] {
            let exit = user(&app, arguments, PASSWORD, settings).await;
            assert_eq!(
                (exit.code, &*exit.stderr),
                (Some(64), problem),
                "{arguments:?}: {exit:?}"
            );
        }
    }
    let refused = user(&app, &["import", "-"], &carl, &[ROLES]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let reason = "role is none of user, author, admin, editor, night-shift_2";
    assert!(
        format!("{}{}", refused.stdout, refused.stderr).contains(reason),
        "{refused:?}"
    );
    assert_eq!(app.database.count_users().await, 3);
}

async fn a_role_that_users_or_keys_have_is_not_taken_away(setup: TestSetup) {
    let mut app = setup.clone().with(ROLES.0, ROLES.1).start().await;
    for (name, role) in [("ann", "editor"), ("bob", "editor"), ("carl", "user")] {
        run(&app, &["create", name, "--role", role]).await;
    }
    run(
        &app,
        &["create-key", "carl", "--name", "a", "--role", "editor"],
    )
    .await;
    app.kill_auth().await;

    let folder = tempfile::tempdir().expect("a folder");
    let start = async |settings: &BTreeMap<String, String>| {
        let process = Process::start(setup.auth_program(), settings, folder.path());
        process.ready_or_ended().await
    };
    let without = setup.auth_settings(&app.database.url());
    let problem = "EXTRA_ROLES: lacks editor, which 2 user(s) and 1 API key(s) have; auth-service \
                   (or rolegate) user list --role editor lists them";
    let refused = start(&without).await.expect("it does not serve");
    assert_eq!(refused.code, Some(64), "{refused:?}");
    assert_eq!(refused.stderr.lines().last(), Some(problem), "{refused:?}");
    assert_eq!(refused.stdout, "", "nothing listens");
    let doctor = async |settings| {
        Process::run(
            setup.auth_program(),
            &["doctor"],
            settings,
            folder.path(),
            "",
        )
        .await
    };
    let found = doctor(&without).await;
    assert_eq!(found.code, Some(1), "{found:?}");
    expect_line(&found, "FAILED", problem);
    // A role that no user has can be taken out of the setting.
    let mut fewer = without.clone();
    fewer.insert("EXTRA_ROLES".to_owned(), "editor".to_owned());
    assert!(start(&fewer).await.is_none(), "it serves");
    assert_eq!(doctor(&fewer).await.code, Some(0));

    let listed = user(&app, &["list", "--role", "editor"], "", &[]).await;
    let listed = without_times(&listed.stdout);
    let lines: Vec<_> = listed.lines().skip(1).collect();
    let carl = "       4  user    enabled   \"carl\"  (API keys with it: 1)";
    assert!(
        lines.len() == 3 && lines[0].contains("ann") && lines[2] == carl,
        "{listed}"
    );
    for arguments in [
        &["set-role", "ann", "author"][..],
        &["delete", "bob"],
        &["delete-key", "carl", "1"],
    ] {
        assert!(start(&without).await.is_some(), "{arguments:?}");
        assert_eq!(
            user(&app, arguments, "", &[]).await.code,
            Some(0),
            "{arguments:?}"
        );
    }
    assert!(start(&without).await.is_none(), "it serves");
    assert_eq!(doctor(&without).await.code, Some(0));
}
