//! The seeded admin.

use super::{App, POLICY, origin};
use crate::accounts::{ADMIN_USERNAME, AccountError, AdminPassword, InitialPassword, SeedError};
use std::fs;

#[tokio::test]
async fn seed_creates_the_admin_once_and_requires_a_password_for_it() {
    let app = App::unseeded(POLICY, InitialPassword::default());
    let missing = app.accounts.seed_admin(&AdminPassword::Missing).await;
    assert_err!(missing, SeedError::PasswordMissing);
    for password in ["sesame", "ignored"] {
        app.accounts.seed_admin(&AdminPassword::Given(password.into())).await.expect("seeded");
    }
    app.accounts.seed_admin(&AdminPassword::Missing).await.expect("exists");
    app.login(ADMIN_USERNAME, "sesame").await.expect("logged in");
    assert_err!(app.login(ADMIN_USERNAME, "ignored").await, AccountError::CredentialsInvalid);
}

#[tokio::test]
async fn file_with_the_initial_password_is_removed_when_it_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(InitialPassword::NAME);
    let app = App::unseeded(POLICY, InitialPassword::in_file(path.clone()));
    app.accounts.seed_admin(&AdminPassword::GeneratedInto(path.clone())).await.expect("seeded");
    let text = fs::read_to_string(&path).expect("written");
    let token = app.login(ADMIN_USERNAME, text.trim_end()).await.expect("logged in");
    let current = text.trim_end().into();
    let set = app.accounts.change_password(&token, current, "sesame".into(), origin(1)).await;
    set.expect("changed");
    assert!(!path.exists());
}
