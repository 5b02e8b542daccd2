//! Tests the orders and filters of `auth-service user list`.

use crate::user_commands::user;
use e2e::{TestApp, TestSetup, for_two_deployments};

for_two_deployments!(
    users_are_sorted_filtered_and_counted_by_commands,
    mistakes_in_filters_are_named,
);

/// Runs `user list`, and returns the names in the order of the lines.
async fn names(app: &TestApp, arguments: &[&str]) -> Vec<String> {
    let exit = user(app, &[&["list"], arguments].concat(), "", &[]).await;
    assert_eq!((exit.code, &*exit.stderr), (Some(0), ""), "{exit:?}");
    let lines = exit.stdout.lines().skip(1);
    lines
        .map(|line| line.split('"').nth(1).expect("a name").to_owned())
        .collect()
}

async fn run(app: &TestApp, arguments: &[&str]) {
    let exit = user(app, arguments, "", &[]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
}

async fn group(app: &TestApp, arguments: &[&str]) {
    let exit = crate::group_commands::group(app, arguments, &[]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
}

async fn users_are_sorted_filtered_and_counted_by_commands(setup: TestSetup) {
    let app = setup.start().await;
    for name in ["bob", "Zoë", "Müller, Anna"] {
        app.user(name).await;
    }
    run(&app, &["create", "invited", "--link"]).await;
    run(&app, &["disable", "bob"]).await;
    run(&app, &["set-until", "bob", "2090-01-01T00:00:00Z"]).await;
    group(&app, &["create", "staff"]).await;
    group(&app, &["add", "staff", "Zoë"]).await;

    let by_name = ["admin", "bob", "invited", "Müller, Anna", "Zoë"];
    assert_eq!(names(&app, &["--sort", "username"]).await, by_name);
    let last = names(&app, &["--sort=-id", "--has-password", "true"]).await;
    assert_eq!(last, ["Müller, Anna", "Zoë", "bob", "admin"]);
    for (arguments, found) in [
        (&["--search", "anna MULLER"][..], &["Müller, Anna"][..]),
        (&["--search", "zoe"], &["Zoë"]),
        (&["--username", "Zo"], &["Zoë"]),
        (&["--has-password", "false"], &["invited"]),
        (&["--has-second-factor", "true"], &[]),
        (&["--disabled", "true"], &["bob"]),
        (&["--group", "staff"], &["Zoë"]),
        (&["--ends-before", "2090-01-02"], &["bob"]),
        (&["--ends-before", "2090-01-01T00:00:00Z"], &[]),
        (
            &["--not-since", "2020-01-01", "--search", "inv"],
            &["invited"],
        ),
        (
            &["--sort", "until", "--disabled=false", "--role=admin"],
            &["admin"],
        ),
    ] {
        assert_eq!(names(&app, arguments).await, found, "{arguments:?}");
    }
    let total = user(&app, &["list", "--total"], "", &[]).await;
    assert_eq!(total.stdout, "5\n");
    let total = user(&app, &["list", "--total", "--group", "staff"], "", &[]).await;
    assert_eq!(total.stdout, "1\n");
}

async fn mistakes_in_filters_are_named(setup: TestSetup) {
    let app = setup.start().await;
    for (argument, problem) in [
        (
            "--sort=name",
            "SORT: must be id, username, last_sign_in_at or until",
        ),
        ("--sort=--id", "SORT: must be id"),
        ("--not-since=March", "NOT_SINCE: must be a time such as"),
        (
            "--ends-before=2026-02-30",
            "ENDS_BEFORE: must be a time such as",
        ),
        ("--disabled=no", "DISABLED: "),
        ("--has-password=", "HAS_PASSWORD: "),
        ("--has-second-factor=1", "HAS_SECOND_FACTOR: "),
        ("--group=Staff", "GROUP: "),
    ] {
        let exit = user(&app, &["list", argument], "", &[]).await;
        assert_eq!((exit.code, &*exit.stdout), (Some(64), ""), "{exit:?}");
        assert!(exit.stderr.starts_with(problem), "{exit:?}");
    }
    let unknown = user(&app, &["list", "--group=crew"], "", &[]).await;
    assert_eq!(
        (unknown.code, &*unknown.stdout),
        (Some(1), ""),
        "{unknown:?}"
    );
}
