//! Tests `auth-service group …` and `auth-service user set-until` while the service runs.

use crate::{doctor::expect_line, user_commands::user};
use e2e::{Exit, Process, Program, TestApp, TestSetup, for_two_deployments};
use serde_json::json;
use std::collections::BTreeMap;

for_two_deployments!(
    groups_and_members_are_managed_by_commands,
    mistakes_in_commands_about_groups_are_named_and_change_nothing,
    the_end_of_an_account_is_set_and_removed_by_a_command,
    a_group_with_the_name_of_an_extra_role_is_refused_at_the_start_and_by_doctor,
);

const END: &str = "2090-12-04T17:00:00Z";

pub(crate) async fn group(app: &TestApp, arguments: &[&str], more: &[(&str, &str)]) -> Exit {
    let mut settings = BTreeMap::from([("DATABASE_URL".to_owned(), app.database.url())]);
    for (name, value) in more {
        settings.insert((*name).to_owned(), (*value).to_owned());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [&["group"], arguments].concat();
    let program = Program::FastHashAuthService;
    Process::run(program, &arguments, &settings, folder.path(), "").await
}

/// Runs a command about groups, and expects what it prints.
async fn expect_group(app: &TestApp, arguments: &[&str], said: &str) {
    let exit = group(app, arguments, &[]).await;
    assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
    assert_eq!(exit.stdout, format!("{said}\n"), "{arguments:?}: {exit:?}");
}

async fn groups_and_members_are_managed_by_commands(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    app.user("bob").await;
    expect_group(&app, &["list"], "      ID  MEMBERS  NAME").await;
    expect_group(&app, &["create", "staff"], "Group 1 (staff) is created.").await;
    expect_group(&app, &["create", "crew"], "Group 2 (crew) is created.").await;
    let joined = format!("User \"ann\" is in the group staff until {END}.");
    expect_group(&app, &["add", "staff", "ann", "--until", END], &joined).await;
    let joined = "User \"bob\" is in the group staff.";
    expect_group(&app, &["add", "staff", "bob"], joined).await;
    let own = app
        .bearer
        .with_token(&ann.token)
        .get("/profile/groups")
        .await;
    let shown = END.replace('Z', ".000Z");
    let groups = json!({ "groups": [{ "id": 1, "name": "staff", "until": shown }] });
    own.expect_json(200, &groups);
    let members = format!(
        " USER ID  UNTIL                 USERNAME\n\
         \u{20}      2  {END}  \"ann\"\n\
         \u{20}      3  -                     \"bob\""
    );
    expect_group(&app, &["members", "staff"], &members).await;
    let list = "      ID  MEMBERS  NAME\n\
                \u{20}      1        2  staff\n\
                \u{20}      2        0  crew";
    expect_group(&app, &["list"], list).await;
    let shown = user(&app, &["show", "ann"], "", &[]).await;
    assert!(
        shown.stdout.contains("\"ann\"  (groups: staff)"),
        "{shown:?}"
    );
    let left = "User \"bob\" is no longer in the group staff.";
    expect_group(&app, &["remove", "staff", "bob"], left).await;
    let deleted = group(&app, &["delete", "staff"], &[]).await;
    assert_eq!(
        (deleted.code, &*deleted.stdout),
        (Some(0), "Group 1 (staff) is deleted; it had 1 member(s).\n")
    );
    assert!(deleted.stderr.contains("group_deleted"), "{deleted:?}");
    let own = app
        .bearer
        .with_token(&ann.token)
        .get("/profile/groups")
        .await;
    own.expect_json(200, &json!({ "groups": [] }));
}

async fn mistakes_in_commands_about_groups_are_named_and_change_nothing(setup: TestSetup) {
    let app = setup.start().await;
    app.user("ann").await;
    expect_group(&app, &["create", "staff"], "Group 1 (staff) is created.").await;
    let cases: &[(&[&str], i32, &str)] = &[
        (&["create", "staff"], 1, "another group has the name"),
        (
            &["create", "Staff"],
            64,
            "GROUP: Group name must begin with a letter from a to z",
        ),
        (
            &["create", "author"],
            64,
            "GROUP: Group name must not be the name of a role.",
        ),
        (&["create"], 64, "GROUP: is required"),
        (&["members", "crew"], 1, "there is no group \"crew\""),
        (&["add", "crew", "ann"], 1, "there is no group \"crew\""),
        (&["add", "St aff", "ann"], 1, "there is no group \"St aff\""),
        (&["add", "staff", "Ann"], 1, "there is no user \"Ann\""),
        (
            &["add", "staff", "ann", "--until", "Friday"],
            64,
            "must be a time such as 2026-12-04T17:00:00Z",
        ),
        (
            &["add", "staff", "ann", "--until", "2020-01-01T00:00:00Z"],
            64,
            "UNTIL: End must be in the future.",
        ),
        (
            &["remove", "staff", "ann"],
            1,
            "the user is not in the group",
        ),
        (
            &["delete", "crew", "--yes"],
            1,
            "there is no group \"crew\"",
        ),
    ];
    for (arguments, code, said) in cases {
        let exit = group(&app, arguments, &[]).await;
        assert_eq!(exit.code, Some(*code), "{arguments:?}: {exit:?}");
        assert!(exit.stderr.contains(said), "{arguments:?}: {exit:?}");
        let list = "      ID  MEMBERS  NAME\n       1        0  staff";
        expect_group(&app, &["list"], list).await;
    }
}

async fn the_end_of_an_account_is_set_and_removed_by_a_command(setup: TestSetup) {
    let app = setup.start().await;
    app.user("ann").await;
    let set = user(&app, &["set-until", "ann", END], "", &[]).await;
    let said = format!("User 2 (\"ann\") has an account until {END} now.\n");
    assert_eq!((set.code, &*set.stdout), (Some(0), &*said), "{set:?}");
    assert!(
        set.stderr.contains("every replica must be of this release"),
        "{set:?}"
    );
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), app.database.url())]);
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::FastHashAuthService;
    let doctor = Process::run(program, &["doctor"], &settings, folder.path(), "").await;
    assert!(
        doctor
            .stdout
            .contains("the accounts of 1 user(s) have an end"),
        "{doctor:?}"
    );
    let shown = user(&app, &["show", "ann"], "", &[]).await;
    let end = format!("(until {END})");
    assert!(shown.stdout.contains(&end), "{shown:?}");
    let removed = user(&app, &["set-until", "ann", "never"], "", &[]).await;
    let said = "User 2 (\"ann\") has an account without an end now.\n";
    assert_eq!((removed.code, &*removed.stdout), (Some(0), said));
    for time in ["Friday", "2020-01-01T00:00:00Z", ""] {
        let refused = user(&app, &["set-until", "ann", time], "", &[]).await;
        assert_eq!(refused.code, Some(64), "{time:?}: {refused:?}");
    }
    // An operator may let even the last admin's account end, as with any other change by an operator.
    let set = user(&app, &["set-until", "admin", END], "", &[]).await;
    assert_eq!(set.code, Some(0), "{set:?}");
}

async fn a_group_with_the_name_of_an_extra_role_is_refused_at_the_start_and_by_doctor(
    setup: TestSetup,
) {
    let mut app = setup.clone().start().await;
    expect_group(&app, &["create", "staff"], "Group 1 (staff) is created.").await;
    let taken = group(&app, &["create", "crew"], &[("EXTRA_ROLES", "crew")]).await;
    assert_eq!(taken.code, Some(64), "{taken:?}");
    app.kill_auth().await;
    let mut settings = setup.auth_settings(&app.database.url());
    settings.insert("EXTRA_ROLES".to_owned(), "editor,staff".to_owned());
    let folder = tempfile::tempdir().expect("a folder");
    let program = setup.auth_program();
    let problem = "EXTRA_ROLES: has names of groups: staff";
    let process = Process::start(program, &settings, folder.path());
    let refused = process.ready_or_ended().await.expect("it does not serve");
    assert_eq!(refused.code, Some(64), "{refused:?}");
    assert_eq!(refused.stderr.lines().last(), Some(problem), "{refused:?}");
    let found = Process::run(program, &["doctor"], &settings, folder.path(), "").await;
    assert_eq!(found.code, Some(1), "{found:?}");
    expect_line(&found, "FAILED", problem);
}
