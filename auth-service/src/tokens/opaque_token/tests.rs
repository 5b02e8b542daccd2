use super::{NewToken, TokenBearer, TokenKind, digest};
use crate::user::User;
use rolegate_proto::Role;
use secrecy::ExposeSecret as _;
use std::collections::BTreeSet;

#[test]
fn generated_tokens_differ_and_have_their_documented_form() {
    use TokenKind::{ApiKey, Session};
    for (kind, start) in [(ApiKey, "rgk_"), (Session, "rgs_"), (Session, "rgd_")] {
        let generate = || NewToken::generate(start, 1, "a".to_owned(), 7).expect("randomness");
        let (one, other) = (generate(), generate());
        assert_ne!(one.token.expose_secret(), other.token.expose_secret());
        let token = one.token.expose_secret();
        assert!(token.len() == 47 && token.starts_with(start), "{token}");
        assert_eq!(TokenKind::detect(token), Some(kind));
        assert_eq!(
            (one.stored.prefix.as_str(), one.stored.kind()),
            (&token[..8], kind)
        );
        assert_eq!(one.digest.len(), 64);
        assert_eq!(digest(token), Some(one.digest));
    }
}

#[test]
fn digest_is_the_sha_256_of_the_key_as_sha256sum_prints_it() {
    let key = "rgk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let expected = "269f603c23b70a9e9d2d023c54443afa0fe269e471ee0996bb4d4e121c3fd272";
    assert_eq!(digest(key).as_deref(), Some(expected));
}

#[test]
fn malformed_tokens_have_no_digest() {
    let key = format!("rgk_{}", "A".repeat(43));
    assert!(digest(&key).is_some());
    let digests = ["rgk_", "rgs_", "rgd_"].map(|prefix| digest(&key.replace("rgk_", prefix)));
    assert_eq!(
        digests.iter().flatten().collect::<BTreeSet<_>>().len(),
        3,
        "the kind is in it"
    );
    for text in [
        "",
        "rgk_",
        &key[..46],
        &format!("{key}A"),
        &format!("{key}="),
        &key.replace("rgk_", "RGK_"),
        &key.replace("rgk_", "rgx_"),
        &key.replace("rgk_", "rgs_rgk_"),
        &key.replace("AA", "A+"),
        // The last character has bits that are not part of 32 bytes.
        &format!("rgk_{}B", "A".repeat(42)),
        &format!(" {key}"),
        &"é".repeat(2_000),
        &format!("rgk_{}", "A".repeat(4_000)),
    ] {
        assert_eq!(digest(text), None, "{text:?}");
    }
}

#[test]
fn the_lower_of_both_roles_counts() {
    let effective = |stored, role| {
        let user = User {
            id: 1,
            username: "ann".to_owned(),
            role: stored,
            tokens_not_before: 0,
            tokens_marked_until: 0,
            second_factor: false,
            created_at: None,
            disabled: false,
        };
        let key = TokenBearer {
            digest: String::new(),
            token_id: 1,
            role,
            expires_at: None,
            last_used_at: 0,
            not_before: None,
            cookie_only: false,
            user,
        };
        key.into_bounded_user().role
    };
    for stored in Role::BUILT_IN {
        assert_eq!(effective(stored, None), stored);
        assert_eq!(effective(stored, Some(Role::ADMIN)), stored);
        assert_eq!(effective(stored, Some(Role::USER)), Role::USER);
    }
    assert_eq!(effective(Role::ADMIN, Some(Role::AUTHOR)), Role::AUTHOR);
}
