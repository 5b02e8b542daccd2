//! Tests of the user `admin` that the first start creates.

use super::{App, POLICY, origin};
use crate::{
    accounts::{ADMIN_USERNAME, AdminPassword, InitialPassword, SeedError},
    principal::Principal,
};
use rolegate_proto::Role;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[tokio::test]
async fn seed_creates_the_admin_once_and_requires_a_password_for_it() {
    let app = App::unseeded(POLICY, InitialPassword::default());
    let missing = app.users.seed_admin(&AdminPassword::Missing).await;
    assert!(
        matches!(missing, Err(SeedError::Password(_))),
        "{missing:?}"
    );
    for password in ["sesame", "ignored"] {
        app.users
            .seed_admin(&AdminPassword::Given(password.into()))
            .await
            .expect("seeded");
    }
    app.users
        .seed_admin(&AdminPassword::Missing)
        .await
        .expect("exists");
    app.login(ADMIN_USERNAME, "sesame")
        .await
        .expect("logged in");
    assert_err!(
        app.login(ADMIN_USERNAME, "ignored").await,
        CredentialsInvalid
    );
}

/// Creates an app with an admin and the file with the initial password. Returns the app, the path
/// of the file and the password.
async fn with_file(folder: &Path) -> (App, PathBuf, String) {
    let path = folder.join(InitialPassword::NAME);
    let app = App::unseeded(POLICY, InitialPassword::in_file(path.clone()));
    app.users
        .seed_admin(&AdminPassword::GeneratedInto(path.clone()))
        .await
        .expect("seeded");
    let text = fs::read_to_string(&path)
        .expect("written")
        .trim_end()
        .to_owned();
    (app, path, text)
}

#[tokio::test]
async fn file_with_the_initial_password_is_removed_when_the_password_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (app, path, text) = with_file(folder.path()).await;
    let token = app.login(ADMIN_USERNAME, &text).await.expect("logged in");
    let current = text.as_str().into();
    let set = app
        .users
        .change_password(&token, current, "sesame".into(), origin(1))
        .await;
    set.expect("changed");
    assert!(!path.exists());
}

#[tokio::test]
async fn start_keeps_the_file_while_its_password_is_that_of_the_admin() {
    let folder = tempfile::tempdir().expect("a folder");
    let (app, path, text) = with_file(folder.path()).await;
    let start = || app.users.seed_admin(&AdminPassword::Missing);
    let token = app.login(ADMIN_USERNAME, &text).await.expect("logged in");
    app.users
        .revoke_tokens(&token, None)
        .await
        .expect("logged out");
    start().await.expect("started");
    assert!(path.exists(), "a logout sets no password");
    app.set_disabled(1, true).await;
    start().await.expect("started");
    app.set_disabled(1, false).await;
    assert!(
        path.exists(),
        "the password is accepted again when the admin is enabled"
    );
    app.login(ADMIN_USERNAME, &text).await.expect("logged in");

    // Another process sets passwords in this way: first the same password with another cost, and
    // then another password.
    let set = async |password: &str| {
        let hash = bcrypt::hash(password, 5).expect("hashed");
        let set = app.set_password_hash(Principal::Operator, 1, &hash).await;
        set.expect("set");
    };
    set(&text).await;
    start().await.expect("started");
    assert!(path.exists(), "the same password");
    set("sesame").await;
    start().await.expect("started");
    assert!(!path.exists(), "another password");
    start().await.expect("started");
}

#[tokio::test]
async fn start_keeps_a_file_that_it_cannot_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let (app, path, text) = with_file(folder.path()).await;
    let start = || app.users.seed_admin(&AdminPassword::Missing);
    fs::write(&path, [0xff]).expect("written");
    start().await.expect("started");
    assert!(path.exists(), "not UTF-8");
    fs::write(&path, text).expect("written");
    let hash = format!(
        "hmac-sha256:unknown:{}",
        bcrypt::hash("sesame", 4).expect("hashed")
    );
    let set = app.set_password_hash(Principal::Operator, 1, &hash).await;
    set.expect("set");
    start().await.expect("started");
    assert!(path.exists(), "the pepper is not configured");
}

#[tokio::test]
async fn replica_that_seeds_second_keeps_only_a_file_with_the_password_of_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (app, path, _) = with_file(folder.path()).await;
    // Both processes found no admin, and this one inserts the admin second.
    let source = AdminPassword::GeneratedInto(path.clone());
    let is_first = app
        .users
        .insert_admin(&source)
        .await
        .expect("the name is taken");
    assert!(!is_first);
    app.users
        .seed_admin(&AdminPassword::Missing)
        .await
        .expect("started");
    assert!(path.exists(), "both read the same file");
    fs::write(&path, "another password\n").expect("written");
    app.users
        .seed_admin(&AdminPassword::Missing)
        .await
        .expect("started");
    assert!(!path.exists());
}

#[tokio::test]
async fn name_of_the_first_admin_is_taken_also_while_no_user_has_it() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    app.set_role(ann.id, Role::ADMIN).await;
    let admin = app.login("ann", "sesame").await.expect("logged in");
    for has_user in [true, false] {
        assert_err!(app.register(ADMIN_USERNAME).await, UsernameTaken);
        let role = Ok(Role::USER);
        let password = Some("sesame".into());
        let create = app
            .users
            .create_user(&admin, ADMIN_USERNAME, password, role, origin(1));
        assert_err!(create.await, UsernameTaken);
        if has_user {
            app.delete_user(1).await;
        }
    }
    app.register("Admin").await.expect("another name");
    app.users
        .seed_admin(&AdminPassword::Given("sesame".into()))
        .await
        .expect("seeded");
    app.login(ADMIN_USERNAME, "sesame")
        .await
        .expect("created again");
}
