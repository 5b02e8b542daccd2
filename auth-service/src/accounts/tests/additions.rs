//! Tests of the limit for credentials that are added to a user in a minute.

use super::{App, NOW, origin, second_factor::policy};
use crate::{
    accounts::{AccountError, ApiKeyRequest, SessionRequest},
    change::TokenSelection,
    second_factor::Mode,
    store::additions::MAX_ADDITIONS,
    tokens::TokenKind,
};
use rolegate_proto::{Reason, Role};
use std::time::Duration;

/// Creates an app with the user ann, and an access token of ann.
async fn app() -> (App, String) {
    let app = App::new(policy(Mode::Optional)).await;
    app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    (app, token)
}

impl App {
    async fn create_key(&self, token: &str, user_id: Option<i64>) -> Result<(), AccountError> {
        let request = ApiKeyRequest {
            user_id,
            name: "export".to_owned(),
            role: user_id.map(|_| Ok(Role::USER)),
            groups: None,
            expires_at: None,
        };
        let made = self.users.create_api_key(token, request).await;
        made.map(drop)
    }

    async fn delete_all(&self, kind: TokenKind, token: &str) {
        let deleted = self
            .users
            .delete_tokens(kind, token, None, TokenSelection::All)
            .await;
        deleted.expect("deleted");
    }

    /// Creates and deletes as many keys as the limit allows.
    async fn fill(&self, token: &str) {
        for _ in 0..MAX_ADDITIONS {
            self.create_key(token, None).await.expect("there is room");
            self.delete_all(TokenKind::ApiKey, token).await;
        }
    }
}

#[tokio::test]
async fn a_user_who_makes_and_deletes_keys_in_a_loop_is_refused_until_a_minute_is_over() {
    let (app, token) = app().await;
    app.fill(&token).await;
    let refused = app.create_key(&token, None).await.expect_err("full");
    assert_eq!(refused.reason(), Reason::TooManyAttempts);
    assert_eq!(refused.retry_after(), Some(Duration::from_mins(1)));
    app.store.set_time(NOW + 59);
    let refused = app.create_key(&token, None).await.expect_err("full");
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
    app.store.set_time(NOW + 60);
    app.create_key(&token, None).await.expect("a minute later");
}

#[tokio::test]
async fn keys_sessions_and_second_factors_of_a_user_have_one_limit_and_others_their_own() {
    let (app, token) = app().await;
    app.fill(&token).await;
    assert_err!(app.create_key(&token, None).await, TooManyAttempts);
    let session = app.try_session("sesame", SessionRequest::default()).await;
    assert_err!(session, TooManyAttempts);
    let begun = app
        .users
        .begin_second_factor(&token, "sesame".into(), origin(1))
        .await;
    assert_err!(begun, TooManyAttempts);
    assert_err!(app.create_key(&app.admin, Some(2)).await, TooManyAttempts);
    app.create_key(&app.admin, None)
        .await
        .expect("of the admin");
}

#[tokio::test]
async fn nothing_new_is_revealed_and_bad_requests_are_refused_as_before() {
    let (app, token) = app().await;
    app.fill(&token).await;
    let wrong = app.try_session("wrong", SessionRequest::default()).await;
    assert_err!(wrong, CredentialsInvalid);
    let begun = app
        .users
        .begin_second_factor(&token, "wrong".into(), origin(1))
        .await;
    assert_err!(begun, CurrentPasswordWrong);
    assert_err!(app.create_key("", None).await, TokenInvalid);
    assert_err!(app.create_key(&token, Some(1)).await, RoleInsufficient);
    let unnamed = app
        .users
        .create_api_key(&token, ApiKeyRequest::default())
        .await;
    assert_err!(unnamed, ApiKeyInvalid);
}

#[tokio::test]
async fn at_the_limit_a_user_ends_what_they_have_and_changes_the_password() {
    let (app, token) = app().await;
    let users = &app.users;
    let (_, session) = app.session().await;
    for _ in 1..MAX_ADDITIONS {
        app.create_key(&token, None).await.expect("there is room");
        app.delete_all(TokenKind::ApiKey, &token).await;
    }
    assert_err!(app.create_key(&token, None).await, TooManyAttempts);
    let ended = users
        .delete_tokens(
            TokenKind::Session,
            &token,
            None,
            TokenSelection::One(session.id),
        )
        .await;
    assert_eq!(ended.expect("ended").len(), 1);
    let changed = users
        .change_password(&token, "sesame".into(), "open!".into(), origin(1))
        .await;
    changed.expect("changed");
    let token = app.login("ann", "open!").await.expect("logged in");
    users.revoke_tokens(&token, None).await.expect("logged out");
}
