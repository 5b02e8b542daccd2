//! Tests that a token is refused for another user with the same id: a restored database assigns ids again.

use super::{AccessTokens, NOW, SECRET, TOKEN_TTL_SECONDS, ada, hs256, minted, tokens};
use crate::user::User;
use jsonwebtoken::{Algorithm::HS256, Header};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

/// Returns the user with Ada's id who was created at this time.
fn made_at(created_at: u64) -> User {
    User {
        created_at: Some(created_at),
        ..ada()
    }
}

fn is_refused(tokens: &AccessTokens, token: &str, user: &User) -> bool {
    tokens.verify(token).expect("signed").is_revoked(user)
}

/// Signs a token with these claims. Its header names the key, like the headers of the tokens that the service
/// issues.
fn with_kid(tokens: &AccessTokens, claims: &Value) -> String {
    let kid = tokens.keyring.read().signing_kid().to_owned();
    let header = Header {
        kid: Some(kid),
        ..Header::new(HS256)
    };
    minted(&header, claims, SECRET)
}

#[test]
fn a_token_from_before_its_user_was_made_is_refused() {
    let tokens = tokens(SECRET, &[]);
    let token = tokens.issue(&made_at(NOW - 60), NOW).expect("issued");
    for (created_at, expected) in [(NOW - 60, false), (NOW, false), (NOW + 1, true)] {
        let user = made_at(created_at);
        assert_eq!(
            is_refused(&tokens, token.expose_secret(), &user),
            expected,
            "{created_at}"
        );
    }
    assert!(
        !is_refused(&tokens, token.expose_secret(), &ada()),
        "of a user from before the time was kept"
    );
}

#[test]
fn a_user_who_was_made_by_a_clock_that_was_ahead_logs_in_and_has_the_only_valid_token() {
    let tokens = tokens(SECRET, &[]);
    let ahead = made_at(NOW + 3600);
    let token = tokens.issue(&ahead, NOW).expect("issued");
    assert!(!is_refused(&tokens, token.expose_secret(), &ahead));
    assert!(
        tokens
            .verify(token.expose_secret())
            .expect("signed")
            .is_valid_at(NOW),
        "not issued in the future"
    );
    for other in [made_at(NOW + 3601), made_at(NOW + 7200)] {
        assert!(is_refused(&tokens, token.expose_secret(), &other));
    }
    let older = tokens.issue(&made_at(NOW), NOW).expect("issued");
    assert!(is_refused(&tokens, older.expose_secret(), &ahead));
}

#[test]
fn a_token_that_names_its_key_is_refused_unless_it_names_its_user_too() {
    let tokens = tokens(SECRET, &[]);
    let exp = NOW + 60;
    for (username, expected) in [
        (json!("ada"), false),
        (json!("Ada"), true),
        (json!("ada "), true),
        (json!("boss"), true),
        (json!(""), true),
        (json!(7), true),
        (json!(["ada"]), true),
        (json!(null), true),
    ] {
        let token = with_kid(
            &tokens,
            &json!({"sub": "7", "username": username, "exp": exp}),
        );
        assert_eq!(is_refused(&tokens, &token, &ada()), expected, "{username}");
    }
    let nameless = with_kid(&tokens, &json!({"sub": "7", "exp": exp}));
    assert!(is_refused(&tokens, &nameless, &ada()));
    let escaped = r#"{"sub":"7","username":"\u0061da","exp":1800000060}"#;
    let escaped: Value = serde_json::from_str(escaped).expect("JSON");
    assert!(!is_refused(&tokens, &with_kid(&tokens, &escaped), &ada()));
}

#[test]
fn a_token_without_kid_is_judged_by_its_end_and_by_revocations_alone() {
    let tokens = tokens(SECRET, &[]);
    let user = made_at(NOW);
    for claims in [
        json!({"sub": "7", "exp": NOW + 1}),
        json!({"sub": "7", "exp": NOW + TOKEN_TTL_SECONDS}),
        json!({"sub": "7", "username": "boss", "exp": NOW + 1}),
        json!({"sub": "7", "username": 7, "exp": NOW + 1}),
    ] {
        let token = hs256(&claims);
        assert!(!is_refused(&tokens, &token, &user), "{claims}");
        let revoked = User {
            tokens_not_before: NOW,
            ..user.clone()
        };
        let is_older = claims["exp"].as_u64() < Some(NOW + TOKEN_TTL_SECONDS);
        assert_eq!(is_refused(&tokens, &token, &revoked), is_older, "{claims}");
    }
}
