//! Tests of API keys that are sent as passwords of HTTP Basic.

use super::{
    ADMIN_USERNAME, App, NOW, POLICY, api_keys::create_key, basic_check, origin,
    second_factor::EnrolledUser,
};
use crate::{
    accounts::{AccountError, BasicCredentials, InitialPassword},
    second_factor::Mode,
    tokens::TokenKind,
    user::User,
};
use rolegate_proto::Role;

/// Returns credentials with a password that may be an API key.
fn check(username: &str, password: &str) -> BasicCredentials {
    BasicCredentials {
        accept_api_keys: true,
        ..basic_check(username, password, 1)
    }
}

/// A user, and an API key that the user created.
struct KeyUser {
    app: App,
    user: User,
    key: String,
    key_id: i64,
}

impl KeyUser {
    async fn new(role: Option<Role>, expires_at: Option<i64>) -> Self {
        let app = App::new(POLICY).await;
        let user = app.register("ann").await.expect("registered");
        let token = app.login("ann", "sesame").await.expect("logged in");
        let (key, key_id) = create_key(&app, &token, role, expires_at).await;
        Self {
            app,
            user,
            key,
            key_id,
        }
    }

    async fn present(&self, username: &str, password: &str) -> Result<User, AccountError> {
        let check = check(username, password);
        let verified = self.app.authenticator.verify_credentials(check).await;
        verified.map(|verified| verified.user)
    }

    async fn set_role(&self, role: Role) {
        self.app.set_role(self.user.id, role).await;
    }

    /// Expects that a password is refused and counts as a guess, like any wrong password, until the
    /// limit is reached.
    async fn expect_a_wrong_password(&self, username: &str, password: &str) {
        for _ in 0..3 {
            assert_err!(self.present(username, password).await, CredentialsInvalid);
        }
        assert_err!(self.present(username, password).await, TooManyAttempts);
    }
}

#[tokio::test]
async fn a_key_is_its_user_with_the_lower_of_both_roles_as_stored_now() {
    let ann = KeyUser::new(Some(Role::AUTHOR), None).await;
    for (stored, expected) in [
        (Role::USER, Role::USER),
        (Role::ADMIN, Role::AUTHOR),
        (Role::AUTHOR, Role::AUTHOR),
    ] {
        ann.set_role(stored).await;
        let user = ann.present("ann", &ann.key).await.expect("a live key");
        let expected = User {
            role: expected,
            ..ann.user.clone()
        };
        assert_eq!(user, expected);
    }
}

#[tokio::test]
async fn a_key_passes_in_a_full_window_and_waits_for_no_hash() {
    let ann = KeyUser::new(None, None).await;
    ann.expect_a_wrong_password("ann", "wrong").await;
    assert_err!(ann.present("ann", "sesame").await, TooManyAttempts);
    let _slots = ann.app.take_slots().await;
    ann.app.store.set_time(NOW + 7);
    ann.present("ann", &ann.key).await.expect("a live key");
    let keys = ann.app.store.tokens_of_user(TokenKind::ApiKey, ann.user.id);
    let last_used_at = keys.await.expect("read").value[0].last_used_at;
    assert_eq!(last_used_at, Some(NOW + 7));
}

#[tokio::test]
async fn a_key_that_ended_is_a_wrong_password_from_the_next_request_on() {
    for end in ["deleted", "expired", "disabled"] {
        let ann = KeyUser::new(None, Some(1_800_000_005)).await;
        let app = &ann.app;
        ann.present("ann", &ann.key).await.expect(end);
        match end {
            "deleted" => {
                app.delete_token(TokenKind::ApiKey, ann.user.id, ann.key_id)
                    .await;
            }
            "expired" => app.store.set_time(NOW + 5),
            _ => app.set_disabled(ann.user.id, true).await,
        }
        ann.expect_a_wrong_password("ann", &ann.key).await;
    }
}

#[tokio::test]
async fn keys_of_others_and_what_only_looks_like_a_key_are_wrong_passwords() {
    let unknown = format!("rgk_{}", "A".repeat(43));
    let ann = KeyUser::new(None, None).await;
    for (username, password) in [
        (ADMIN_USERNAME, &*ann.key),
        ("Ann", &ann.key),
        ("stranger", &ann.key),
        ("", &ann.key),
        ("ann", &unknown),
        ("ann ", &ann.key),
    ] {
        ann.expect_a_wrong_password(username, password).await;
    }
    for (name, malformed) in [
        ("with more", format!("{}x", ann.key)),
        ("with a blank", format!("{} ", ann.key)),
        ("in capitals", ann.key.to_uppercase()),
        ("the prefix", "rgk_".to_owned()),
    ] {
        let ann = KeyUser::new(None, None).await;
        ann.present("ann", &ann.key).await.expect(name);
        ann.expect_a_wrong_password("ann", &malformed).await;
    }
}

#[tokio::test]
async fn sessions_and_access_tokens_are_wrong_passwords() {
    let ann = KeyUser::new(None, None).await;
    let token = ann.app.login("ann", "sesame").await.expect("logged in");
    let (session, _) = ann.app.session().await;
    for credential in [token, session] {
        assert_err!(ann.present("ann", &credential).await, CredentialsInvalid);
    }
}

#[tokio::test]
async fn a_key_is_a_wrong_password_for_callers_that_do_not_accept_keys() {
    let ann = KeyUser::new(None, None).await;
    let key = &ann.key;
    ann.present("ann", key).await.expect("a live key");
    assert_err!(ann.app.verify("ann", key).await, CredentialsInvalid);
    assert_err!(ann.app.login("ann", key).await, CredentialsInvalid);
    let recalled = ann.app.recall(vec![basic_check("ann", key, 1)]).await;
    assert_eq!(recalled, [None]);
    ann.present("ann", key).await.expect("still a live key");
}

#[tokio::test]
async fn a_password_that_has_the_form_of_a_key_stays_a_password() {
    let password = format!("rgk_{}", "A".repeat(43));
    let app = App::unseeded(POLICY, InitialPassword::default());
    let registered = app.users.register("ann", (&*password).into(), origin(1));
    registered.await.expect("registered");
    for _ in 0..2 {
        let verified = app
            .authenticator
            .verify_credentials(check("ann", &password));
        verified.await.expect("checked, then cached");
        app.verify("ann", &password).await.expect("cached");
    }
}

#[tokio::test]
async fn a_key_passes_for_a_user_with_a_second_factor_and_the_password_does_not() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let app = &ann.app;
    let token = ann
        .login(Some(&ann.otp(NOW + 30)))
        .await
        .expect("logged in");
    let (key, _) = create_key(app, &token, None, None).await;
    let verified = app
        .authenticator
        .verify_credentials(check("ann", &key))
        .await;
    verified.expect("a live key");
    let refused = app
        .authenticator
        .verify_credentials(check("ann", "sesame"))
        .await;
    assert_err!(refused, OtpRequired);
    let recalled = ann
        .app
        .recall(vec![check("ann", &key), check("ann", "sesame")])
        .await;
    assert_eq!(recalled, [Some("ann".to_owned()), None]);
}

#[tokio::test]
async fn a_batch_knows_keys_at_first_sight_also_in_a_full_window() {
    let ann = KeyUser::new(None, None).await;
    let unknown = format!("rgk_{}", "A".repeat(43));
    ann.expect_a_wrong_password("ann", "wrong").await;
    let checks = vec![
        check("ann", &ann.key),
        check("ann", &unknown),
        check(ADMIN_USERNAME, &ann.key),
        check("ann", "sesame"),
        basic_check("ann", &ann.key, 1),
        check("ann", &ann.key),
    ];
    let known = Some("ann".to_owned());
    let recalled = ann.app.recall(checks).await;
    assert_eq!(recalled, [known.clone(), None, None, None, None, known]);
}

#[tokio::test]
async fn wrong_keys_in_batches_do_not_end_what_is_remembered_for_a_name() {
    let ann = KeyUser::new(None, None).await;
    ann.app.verify("ann", "sesame").await.expect("verified");
    for _ in 0..5 {
        let unknown = |letter: u8| format!("rgk_{}A", char::from(letter).to_string().repeat(42));
        let checks: Vec<_> = (b'a'..=b'z').map(|it| check("ann", &unknown(it))).collect();
        let recalled = ann.app.recall(checks).await;
        assert!(recalled.iter().all(Option::is_none));
    }
    let recalled = ann.app.recall(vec![check("ann", "sesame")]).await;
    assert_eq!(recalled, [Some("ann".to_owned())]);
}

#[tokio::test]
async fn an_outage_is_no_decision_about_a_key() {
    let ann = KeyUser::new(None, None).await;
    ann.app.store.set_down(true);
    assert_err!(ann.present("ann", &ann.key).await, StoreUnavailable);
    let recalled = ann
        .app
        .authenticator
        .recall(vec![Some(check("ann", &ann.key))])
        .await;
    assert_err!(recalled, StoreUnavailable);
}
