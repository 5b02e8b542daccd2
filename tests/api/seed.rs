//! The user `admin`, which the first start creates, after that start and after restarts.

use e2e::{
    ADMIN_PASSWORD, Process, TestDatabase, TestSetup, for_all_deployments, for_two_deployments,
};

for_all_deployments!(admin_is_seeded_once_with_the_configured_password);
for_two_deployments!(
    restart_does_not_change_the_admin,
    start_warns_if_and_only_if_no_admin_is_enabled,
);

async fn admin_is_seeded_once_with_the_configured_password(setup: TestSetup) {
    let app = setup.start().await;
    assert_eq!(app.database.count_users().await, 1);
    assert_eq!(
        app.database.user("admin").await.expect("seeded").role,
        "admin"
    );
    let admin = app.admin().await;
    let response = app.bearer.with_token(&admin.token).get("/admin").await;
    response.expect_message("Welcome Admin!");
}

async fn restart_does_not_change_the_admin(setup: TestSetup) {
    let mut app = setup.start().await;
    app.admin().await;
    app.database.set_role("admin", "user").await;
    let before = app.database.user("admin").await;
    app.kill_auth().await;
    app.start_auth(Some(("DEFAULT_ADMIN_PASSWORD", "another password")))
        .await;
    assert_eq!(app.database.user("admin").await, before);
    assert_eq!(app.database.count_users().await, 1);
    app.try_log_in("admin", "another password")
        .await
        .expect(401);
    app.try_log_in("admin", ADMIN_PASSWORD).await.expect(200);
}

async fn start_warns_if_and_only_if_no_admin_is_enabled(setup: TestSetup) {
    let database = TestDatabase::create(setup.store()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let (program, settings) = (setup.auth_program(), setup.auth_settings(&database.url()));
    for (commands, warns) in [
        (&[][..], false),
        (&[&["set-role", "admin", "user"][..]], true),
        (&[&["create", "ann", "--role", "admin"]], false),
        (&[&["disable", "ann"]], true),
        // The first of two admins is disabled, so one is left.
        (
            &[
                &["set-role", "admin", "admin"],
                &["disable", "admin"],
                &["enable", "ann"],
            ],
            false,
        ),
        (&[&["delete", "ann"]], true),
        // This start creates the user `admin` again.
        (&[&["delete", "admin"]], false),
    ] {
        for command in commands {
            let arguments = [&["user"], *command].concat();
            let exit = Process::run(
                program,
                &arguments,
                &settings,
                folder.path(),
                "planted password",
            );
            let exit = exit.await;
            assert_eq!(exit.code, Some(0), "{exit:?}");
        }
        let process = Process::start(program, &settings, folder.path())
            .ready()
            .await;
        process.terminate();
        let log = process.exit().await.stderr;
        let warned = log
            .lines()
            .filter(|line| line.contains("no enabled user has the role admin"));
        assert_eq!(
            warned.count(),
            usize::from(warns),
            "after {commands:?}\n{log}"
        );
    }
}
