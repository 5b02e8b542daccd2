//! Checks that programs refuse invalid settings of second factors and of passwords that admins set. They also refuse
//! settings under which the stored second factor of a user could not be verified.

use super::{AuthService, QUIET, Rolegate, expect_each_refused, expect_rejected, good};
use e2e::{
    Process, SECOND_FACTOR_KEY, SIGNING_SECRET, Store, TestDatabase, TestSetup, eventually,
    for_two_deployments,
};

for_two_deployments!(start_that_could_not_ask_users_for_their_codes_is_refused);

#[tokio::test]
async fn unknown_word_is_rejected() {
    let owners = &[AuthService, Rolegate][..];
    expect_each_refused(&[
        (owners, "ADMINS_SET_PASSWORDS", "Off"),
        (owners, "ADMINS_SET_PASSWORDS", "false"),
        (owners, "SECOND_FACTOR", "on"),
        (owners, "SECOND_FACTOR", "Admins"),
        (owners, "SECOND_FACTOR", "admin"),
        (owners, "SECOND_FACTOR", "hunter2"),
    ])
    .await;
}

#[tokio::test]
async fn setting_that_needs_the_key_is_rejected_without_it() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value) in [
        ("SECOND_FACTOR", "admins"),
        ("SECOND_FACTOR_KEYS_ACCEPTED", SIGNING_SECRET),
    ] {
        let mut settings = good(AuthService, &database);
        settings.remove("SECOND_FACTOR_KEY");
        settings.insert(name.to_owned(), value.to_owned());
        expect_rejected(AuthService, &settings, folder.path(), "SECOND_FACTOR_KEY").await;
    }
}

async fn start_that_could_not_ask_users_for_their_codes_is_refused(setup: TestSetup) {
    let mut app = setup.clone().start().await;
    let ann = app.user("ann").await;
    app.user("bob").await.begin_second_factor(&app.bearer).await;
    let with = |changes: &[(&str, &str)]| {
        let mut settings = setup.auth_settings(&app.database.url());
        for (name, value) in [QUIET].iter().chain(changes) {
            settings.insert((*name).to_owned(), (*value).to_owned());
        }
        settings
    };
    let other = [("SECOND_FACTOR_KEY", SIGNING_SECRET)];
    let both = [other[0], ("SECOND_FACTOR_KEYS_ACCEPTED", SECOND_FACTOR_KEY)];
    let (other, both, off) = (with(&other), with(&both), with(&[("SECOND_FACTOR", "off")]));
    let mut none = with(&[]);
    none.remove("SECOND_FACTOR_KEY");
    let folder = tempfile::tempdir().expect("a folder");
    let (program, folder) = (setup.auth_program(), folder.path());
    app.kill_auth().await;
    // An enrollment that was only begun does not prevent a start, because it is not asked for at sign-ins.
    for settings in [&none, &other, &off] {
        Process::start(program, settings, folder)
            .ready()
            .await
            .kill()
            .await;
    }
    app.start_auth(None).await;
    eventually("a login", async || {
        (app.try_log_in("ann", &ann.password).await.status == 200).then_some(())
    })
    .await;
    ann.turn_on_second_factor(&app.bearer).await;
    app.kill_auth().await;
    // Without the setting, `rolegate` generates a key, which is a different one.
    for settings in [&none, &other] {
        let line = expect_rejected(program, settings, folder, "SECOND_FACTOR_KEY").await;
        assert!(line.contains("second factor"), "{line}");
    }
    let line = expect_rejected(program, &off, folder, "SECOND_FACTOR").await;
    assert!(line.contains("user remove-second-factor"), "{line}");
    Process::start(program, &both, folder).ready().await;
}
