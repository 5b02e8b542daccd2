//! Tests of API keys: their rules, roles, expiry and deletion.

use super::{App, NOW, POLICY, bearer, origin, sessions::tokens};
use crate::{
    accounts::{
        ApiKeyRequest, Requirement, Services, UserUpdateRequest, check_key_expiry, check_name,
    },
    tokens::{OpaqueToken, TokenKind},
    user::User,
};
use rolegate_proto::{Reason, Role, UnknownRole};
use secrecy::ExposeSecret as _;

pub(super) async fn create_key(
    services: &Services,
    token: &str,
    role: Option<Role>,
    expires_at: Option<i64>,
) -> (String, i64) {
    let name = "export".to_owned();
    let request = ApiKeyRequest {
        user_id: None,
        name,
        role: role.map(Ok),
        groups: None,
        expires_at,
    };
    let created = services
        .users
        .create_api_key(token, request)
        .await
        .expect("created");
    (created.key.expose_secret().to_owned(), created.stored.id)
}

async fn keys(services: &Services, token: &str) -> Vec<OpaqueToken> {
    let listed = services.users.list_api_keys(token, None).await;
    listed.expect("listed")
}

fn any() -> Requirement {
    Requirement::AnyAuthenticated
}

#[tokio::test]
async fn a_key_acts_with_the_lower_of_both_roles_as_stored_now() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let (free, _) = create_key(&app, &token, None, None).await;
    let (bound, _) = create_key(&app, &token, Some(Role::AUTHOR), None).await;
    for (stored, of_bound) in [
        (Role::USER, Role::USER),
        (Role::ADMIN, Role::AUTHOR),
        (Role::AUTHOR, Role::AUTHOR),
        (Role::USER, Role::USER),
    ] {
        app.set_role(ann.id, stored).await;
        for (key, role) in [(&free, stored), (&bound, of_bound)] {
            let user = app
                .authorizer
                .authorize(key, &any())
                .await
                .expect("valid")
                .user;
            assert_eq!(
                user,
                User {
                    role,
                    ..ann.clone()
                }
            );
            app.authorize(key, &[role]).await.expect("allowed");
        }
    }
    assert_err!(
        app.authorize(&free, &[Role::AUTHOR]).await,
        RoleInsufficient
    );
}

#[tokio::test]
async fn whatever_is_wrong_with_a_key_it_is_invalid() {
    let app = App::new(POLICY).await;
    let bob = app.register("bob").await.expect("registered");
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let (valid, id) = create_key(&app, &token, None, None).await;
    let (short, _) = create_key(&app, &token, None, Some(1_800_000_005)).await;
    let of_bob = app.login("bob", "sesame").await.expect("logged in");
    let (of_bob, _) = create_key(&app, &of_bob, None, None).await;
    app.delete_user(bob.id).await;
    let check = async |key: &str| {
        let alone = app.authorizer.authorize(key, &any()).await;
        let bearer = bearer(key, any());
        let batch = app
            .authorizer
            .authorize_batch(vec![Ok(bearer)])
            .await
            .expect("read")
            .pop();
        let batch = batch.expect("one outcome");
        assert_eq!(alone.is_ok(), batch.is_ok(), "{key}");
        for outcome in [alone, batch] {
            let reason = outcome.err().map(|error| error.reason());
            assert!(
                matches!(reason, None | Some(Reason::TokenInvalid)),
                "{reason:?}"
            );
        }
        app.authorizer.authorize(key, &any()).await.is_ok()
    };
    assert!(check(&valid).await && check(&short).await);
    let unknown = format!("rgk_{}", "A".repeat(43));
    for key in [
        "rgk_",
        "rgk_x",
        &unknown,
        &valid[1..],
        &format!("{valid}x"),
        &of_bob,
    ] {
        assert!(!check(key).await, "{key}");
    }
    app.store.set_time(NOW + 4);
    assert!(check(&short).await);
    app.store.set_time(NOW + 5);
    assert!(!check(&short).await && check(&valid).await);
    app.set_disabled(ann.id, true).await;
    assert!(!check(&valid).await);
    app.set_disabled(ann.id, false).await;
    assert!(check(&valid).await, "keys are valid again");
    app.delete_token(TokenKind::ApiKey, ann.id, id).await;
    assert!(!check(&valid).await);
}

#[tokio::test]
async fn a_key_cannot_log_out_make_keys_set_passwords_or_delete_other_keys() {
    let app = App::new(POLICY).await;
    let users = &app.users;
    let ann = app.register("ann").await.expect("registered");
    let (key, id) = create_key(&app, &app.admin, None, None).await;
    let (_, other) = create_key(&app, &app.admin, None, None).await;
    assert_err!(users.revoke_tokens(&key, None).await, RoleInsufficient);
    assert_err!(users.revoke_tokens(&key, Some(1)).await, RoleInsufficient);
    let create = users.create_api_key(&key, ApiKeyRequest::default()).await;
    assert_err!(create, RoleInsufficient);
    let change = users
        .change_password(&key, "sesame".into(), "open!".into(), origin(1))
        .await;
    assert_err!(change, RoleInsufficient);
    let set = users
        .set_password(&key, ann.id, "open!".into(), origin(1))
        .await;
    assert_err!(set, RoleInsufficient);
    for selection in [Some(other), Some(999), None].map(tokens) {
        for user in [None, Some(1)] {
            let deleted = users
                .delete_tokens(TokenKind::ApiKey, &key, user, selection)
                .await;
            assert_err!(deleted, RoleInsufficient);
        }
    }
    users
        .revoke_tokens(&key, Some(ann.id))
        .await
        .expect("what else an admin may");
    users
        .delete_tokens(TokenKind::ApiKey, &key, Some(ann.id), tokens(None))
        .await
        .expect("likewise");
    assert_eq!(keys(&app, &key).await.len(), 2);
    let own = users
        .delete_tokens(TokenKind::ApiKey, &key, None, tokens(Some(id)))
        .await
        .expect("itself");
    assert_eq!(own.len(), 1);
    assert_err!(app.authorizer.authorize(&key, &any()).await, TokenInvalid);
}

#[tokio::test]
async fn a_token_that_is_revoked_before_its_key_is_inserted_makes_none() {
    let app = App::new(POLICY).await;
    app.store.revoke_before_next_token();
    let request = ApiKeyRequest {
        name: "export".to_owned(),
        ..ApiKeyRequest::default()
    };
    let late = app.users.create_api_key(&app.admin, request).await;
    assert_err!(late, TokenInvalid);
    let token = app.login("admin", "sesame").await.expect("logged in");
    assert_eq!(keys(&app, &token).await, []);
    create_key(&app, &token, None, None).await;
}

#[tokio::test]
async fn a_key_cannot_demote_disable_or_delete_its_own_user() {
    let app = App::new(POLICY).await;
    let users = &app.users;
    let ann = app.register("ann").await.expect("registered");
    app.set_role(ann.id, Role::ADMIN).await;
    let token = app.login("ann", "sesame").await.expect("logged in");
    let (key, _) = create_key(&app, &token, None, None).await;
    for role in [Ok(Role::USER), Ok(Role::ADMIN), Err(UnknownRole)] {
        let set = users.set_user_role(&key, ann.id, role).await;
        assert_err!(set, RoleInsufficient);
    }
    for disabled in [true, false] {
        let set = users
            .update_user(
                &key,
                ann.id,
                UserUpdateRequest {
                    username: None,
                    disabled: Some(disabled),
                    end: None,
                },
            )
            .await;
        assert_err!(set, RoleInsufficient);
    }
    assert_err!(users.delete_user(&key, ann.id).await, RoleInsufficient);
    app.authorize(&token, &[Role::ADMIN])
        .await
        .expect("still an admin");

    let bob = app.register("bob").await.expect("registered");
    users
        .set_user_role(&key, bob.id, Ok(Role::AUTHOR))
        .await
        .expect("what else an admin may");
    users
        .update_user(
            &key,
            bob.id,
            UserUpdateRequest {
                username: None,
                disabled: Some(true),
                end: None,
            },
        )
        .await
        .expect("likewise");
    users.delete_user(&key, bob.id).await.expect("likewise");
    users
        .set_user_role(&token, ann.id, Ok(Role::USER))
        .await
        .expect("by a token");
}

#[tokio::test]
async fn keys_outlive_logouts_and_new_passwords() {
    let app = App::new(POLICY).await;
    let users = &app.users;
    let (key, _) = create_key(&app, &app.admin, None, None).await;
    users
        .revoke_tokens(&app.admin, None)
        .await
        .expect("logged out");
    app.authorize(&key, &[Role::ADMIN]).await.expect("valid");
    let token = app.login("admin", "sesame").await.expect("logged in");
    let change = users.change_password(&token, "sesame".into(), "open!".into(), origin(1));
    change.await.expect("changed");
    app.authorize(&key, &[Role::ADMIN]).await.expect("valid");
    let token = app.login("admin", "open!").await.expect("logged in");
    let deleted = users
        .delete_tokens(TokenKind::ApiKey, &token, None, tokens(None))
        .await;
    assert_eq!(deleted.expect("deleted").len(), 1);
    assert_err!(app.authorize(&key, &[Role::ADMIN]).await, TokenInvalid);
}

#[tokio::test]
async fn a_batch_of_tokens_and_keys_decides_each_by_itself() {
    let app = App::new(POLICY).await;
    app.register("ann").await.expect("registered");
    let ann = app.login("ann", "sesame").await.expect("logged in");
    let (key, _) = create_key(&app, &ann, None, None).await;
    let (admin_key, _) = create_key(&app, &app.admin, Some(Role::USER), None).await;
    let unknown = format!("rgk_{}", "A".repeat(43));
    let bearer = |token: &str| Ok(bearer(token, Requirement::AnyAuthenticated));
    let batch = [&key, &app.admin, &unknown, &ann, &admin_key, &key].map(|token| bearer(token));
    let outcomes = app
        .authorizer
        .authorize_batch(batch.into())
        .await
        .expect("read");
    let names = outcomes.into_iter().map(|outcome| {
        outcome
            .map(|actor| format!("{} {}", actor.user.username, actor.user.role))
            .map_err(|error| {
                assert_eq!(error.reason(), Reason::TokenInvalid);
            })
    });
    let expected = [
        "ann user",
        "admin admin",
        "",
        "ann user",
        "admin user",
        "ann user",
    ];
    let expected = expected.map(|name| {
        if name.is_empty() {
            Err(())
        } else {
            Ok(name.to_owned())
        }
    });
    assert_eq!(names.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn an_outage_is_never_a_decision_about_a_key() {
    let app = App::new(POLICY).await;
    let (key, _) = create_key(&app, &app.admin, None, None).await;
    app.store.set_down(true);
    assert_err!(app.authorize(&key, &[Role::ADMIN]).await, StoreUnavailable);
    let bearer = bearer(&key, any());
    assert_err!(
        app.authorizer.authorize_batch(vec![Ok(bearer)]).await,
        StoreUnavailable
    );
}

#[tokio::test]
async fn the_last_use_of_a_key_is_kept() {
    let app = App::new(POLICY).await;
    let (key, _) = create_key(&app, &app.admin, Some(Role::USER), None).await;
    let last_used = async || {
        let keys = keys(&app, &app.admin).await;
        keys[0].last_used_at
    };
    assert_eq!(last_used().await, None);
    app.store.set_time(NOW + 7);
    app.authorizer.authorize(&key, &any()).await.expect("valid");
    assert_eq!(last_used().await, Some(NOW + 7));
    app.store.set_time(NOW + 9);
    assert_err!(app.authorize(&key, &[Role::ADMIN]).await, RoleInsufficient);
    assert_eq!(
        last_used().await,
        Some(NOW + 9),
        "it was valid, its role was insufficient"
    );
}

#[tokio::test]
async fn rules_of_a_new_key_are_checked_in_the_order_of_the_contract() {
    let app = App::new(POLICY).await;
    let create = async |name: &str, role, expires_at| {
        let request = ApiKeyRequest {
            user_id: None,
            name: name.to_owned(),
            role,
            groups: None,
            expires_at,
        };
        app.users
            .create_api_key(&app.admin, request)
            .await
            .map(drop)
    };
    let malformed = Some(Err(UnknownRole));
    assert_err!(create("", malformed, None).await, ApiKeyInvalid);
    assert_err!(create("a", malformed, Some(0)).await, ApiKeyInvalid);
    assert_err!(create("a", malformed, None).await, RoleInvalid);
    for _ in 0..50 {
        create("a", Some(Ok(Role::AUTHOR)), None)
            .await
            .expect("created");
    }
    assert_err!(create("a", malformed, None).await, RoleInvalid);
    assert_err!(create("a", None, None).await, ApiKeyLimit);
}

#[test]
fn broken_rules_of_a_name_are_named() {
    for name in [
        "a",
        "nightly export",
        "👩\u{200d}👩\u{200d}👧",
        &"é".repeat(100),
    ] {
        assert!(check_name(TokenKind::ApiKey, name).is_ok(), "{name}");
    }
    for (name, named) in [
        ("", "1 to 100 characters"),
        (&*"x".repeat(101), "1 to 100 characters"),
        ("a\nb", "control characters"),
        ("a\0", "control characters"),
        (" a", "white space"),
        ("a\u{a0}", "white space"),
        ("ex\u{200b}port", "invisible"),
        ("\u{202e}tropxe", "invisible"),
    ] {
        let rule = check_name(TokenKind::ApiKey, name)
            .expect_err("a broken rule")
            .to_string();
        assert!(rule.contains(named), "{name:?}: {rule}");
    }
}

#[test]
fn expiry_is_in_the_future_and_in_a_year_of_four_digits() {
    let check = |time| check_key_expiry(time, 100).map_err(|rule| rule.to_string());
    assert_eq!(check(101), Ok(101));
    assert_eq!(check(253_402_300_799), Ok(253_402_300_799));
    for time in [100, 0, -1, i64::MIN] {
        let rule = check(time).expect_err("passed");
        assert!(rule.contains("in the future"), "{time}: {rule}");
    }
    for time in [253_402_300_800, i64::MAX] {
        let rule = check(time).expect_err("too late");
        assert!(rule.contains("the year 10000"), "{time}: {rule}");
    }
}
