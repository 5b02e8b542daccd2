//! Tests of batches of HTTP Basic credentials.

use super::{ADMIN_USERNAME, App, POLICY, basic_check as check, origin};
use crate::accounts::{AuthenticatedUser, BasicCredentials};
use rolegate_proto::Role;

impl App {
    /// Recalls a batch, and returns the name of the user for each request that was answered.
    pub(super) async fn recall<C: Into<Option<BasicCredentials>>>(
        &self,
        checks: Vec<C>,
    ) -> Vec<Option<String>> {
        let recalled = self
            .authenticator
            .recall(checks.into_iter().map(Into::into).collect())
            .await;
        let recalled = recalled.expect("read");
        recalled
            .into_iter()
            .map(|recalled| recalled.map(|recalled| recalled.user.username))
            .collect()
    }

    async fn is_recalled(&self, username: &str, password: &str) -> bool {
        self.recall(vec![check(username, password, 1)]).await[0].is_some()
    }
}

#[tokio::test]
async fn only_what_the_same_client_presented_before_is_recalled() {
    let app = App::new(POLICY).await;
    for name in ["ann", "bob", "cem"] {
        app.register(name).await.expect("registered");
    }
    for name in [ADMIN_USERNAME, "ann", "bob"] {
        app.verify(name, "sesame").await.expect("verified");
    }
    let bob = app.verify("bob", "sesame").await.expect("verified");
    app.set_disabled(bob.id, true).await;
    let long = "x".repeat(300);
    let checks = vec![
        check("ann", "sesame", 1),
        check("ann", "wrong", 1),
        check("ann", "sesame", 2),
        check("bob", "sesame", 1),
        check("cem", "sesame", 1),
        check("stranger", "sesame", 1),
        check(&long, "sesame", 1),
        check("a\0b", "sesame", 1),
        check("", "", 1),
        check("ann", &"x".repeat(5000), 1),
        check(ADMIN_USERNAME, "sesame", 1),
        check("ann", "sesame", 1),
    ];
    let mut checks: Vec<_> = checks.into_iter().map(Some).collect();
    checks.insert(3, None);
    let names = app.recall(checks).await;
    let ann = Some("ann".to_owned());
    let mut expected = vec![None; 13];
    (expected[0], expected[11], expected[12]) = (ann.clone(), Some("admin".to_owned()), ann);
    assert_eq!(names, expected);
    assert!(app.recall::<BasicCredentials>(vec![]).await.is_empty());
}

#[tokio::test]
async fn what_is_recalled_is_as_stored_now() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    app.verify("ann", "sesame").await.expect("verified");
    for role in [Role::AUTHOR, "planted".parse().expect("a role")] {
        app.set_role(ann.id, role).await;
        let recalled = app
            .authenticator
            .recall(vec![Some(check("ann", "sesame", 1))])
            .await
            .expect("read");
        let AuthenticatedUser {
            user,
            ineffective_role,
        } = recalled.into_iter().next().flatten().expect("remembered");
        let is_known = role == Role::AUTHOR;
        assert_eq!(user.role, if is_known { role } else { Role::USER });
        assert_eq!(ineffective_role, (!is_known).then_some(role));
    }
    let token = app.login("ann", "sesame").await.expect("logged in");
    let change = app
        .users
        .change_password(&token, "sesame".into(), "open!".into(), origin(1));
    change.await.expect("changed");
    assert!(!app.is_recalled("ann", "sesame").await && !app.is_recalled("ann", "open!").await);
    app.delete_user(ann.id).await;
    app.insert_user("ann", "x").await;
    assert!(!app.is_recalled("ann", "sesame").await, "another user");
}

#[tokio::test]
async fn guesses_in_a_batch_are_not_counted_and_a_full_limit_recalls_nothing() {
    let app = App::new(POLICY).await;
    app.verify(ADMIN_USERNAME, "sesame")
        .await
        .expect("verified");
    for _ in 0..10 {
        assert!(!app.is_recalled(ADMIN_USERNAME, "wrong").await);
    }
    for _ in 0..3 {
        assert!(app.is_recalled(ADMIN_USERNAME, "sesame").await);
        assert_err!(
            app.verify(ADMIN_USERNAME, "wrong").await,
            CredentialsInvalid
        );
    }
    assert!(
        !app.is_recalled(ADMIN_USERNAME, "sesame").await,
        "a guesser must not learn it"
    );
    assert_err!(app.verify(ADMIN_USERNAME, "sesame").await, TooManyAttempts);
    app.verify(ADMIN_USERNAME, "wrong")
        .await
        .expect_err("too many");
    app.register("ann").await.expect("registered");
    app.verify("ann", "sesame").await.expect("of another name");
    assert!(app.is_recalled("ann", "sesame").await);
}

/// Sends wrong passwords for this user in batches.
async fn guess_in_batches(app: &App, username: &str, guesses: usize) {
    let guesses: Vec<_> = (0..guesses)
        .map(|guess| check(username, &format!("guess {guess}"), 1))
        .collect();
    for batch in guesses.chunks(40) {
        let recalled = app.recall(batch.to_vec()).await;
        assert!(recalled.iter().all(Option::is_none));
    }
}

#[tokio::test]
async fn a_hundred_guesses_in_batches_end_what_is_remembered_until_the_password_is_right() {
    let app = App::new(POLICY).await;
    app.verify(ADMIN_USERNAME, "sesame")
        .await
        .expect("verified");
    guess_in_batches(&app, ADMIN_USERNAME, 99).await;
    assert!(app.is_recalled(ADMIN_USERNAME, "sesame").await);
    guess_in_batches(&app, ADMIN_USERNAME, 1).await;
    assert!(!app.is_recalled(ADMIN_USERNAME, "sesame").await);
    // The correct password is still accepted outside of batches, because the guesses did not count
    // as attempts.
    for _ in 0..5 {
        app.verify(ADMIN_USERNAME, "sesame")
            .await
            .expect("verified by its hash");
        assert!(app.is_recalled(ADMIN_USERNAME, "sesame").await);
    }
}

#[tokio::test]
async fn recalling_waits_for_no_hash() {
    let app = App::new(POLICY).await;
    app.verify(ADMIN_USERNAME, "sesame")
        .await
        .expect("verified");
    let _slots = app.take_slots().await;
    let checks = vec![check("ann", "x", 1), check(ADMIN_USERNAME, "sesame", 1)];
    assert_eq!(app.recall(checks).await, [None, Some("admin".to_owned())]);
    assert_err!(app.verify("ann", "x").await, Overloaded);
}

#[tokio::test]
async fn a_batch_fails_with_the_store_and_recalls_nobody() {
    let app = App::new(POLICY).await;
    app.verify(ADMIN_USERNAME, "sesame")
        .await
        .expect("verified");
    app.store.set_down(true);
    let recalled = app
        .authenticator
        .recall(vec![Some(check(ADMIN_USERNAME, "sesame", 1))])
        .await;
    assert_err!(recalled, StoreUnavailable);
}
