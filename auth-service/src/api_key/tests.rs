use super::{KeyBearer, digest, generate, is_api_key};
use crate::user::User;
use rolegate_proto::Role;
use secrecy::ExposeSecret as _;

#[test]
fn generated_keys_differ_and_have_their_documented_form() {
    let (one, other) = (generate().expect("randomness"), generate().expect("randomness"));
    assert_ne!(one.key.expose_secret(), other.key.expose_secret());
    let key = one.key.expose_secret();
    assert!(key.len() == 47 && is_api_key(key), "{key}");
    assert_eq!(one.prefix, key[..8]);
    assert_eq!(one.digest.len(), 64);
    assert_eq!(digest(key), Some(one.digest));
}

#[test]
fn digest_is_the_sha_256_of_the_key_as_sha256sum_prints_it() {
    let key = "rgk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let expected = "269f603c23b70a9e9d2d023c54443afa0fe269e471ee0996bb4d4e121c3fd272";
    assert_eq!(digest(key).as_deref(), Some(expected));
}

#[test]
fn malformed_keys_have_no_digest() {
    let key = format!("rgk_{}", "A".repeat(43));
    assert!(digest(&key).is_some());
    for text in [
        "",
        "rgk_",
        &key[..46],
        &format!("{key}A"),
        &format!("{key}="),
        &key.replace("rgk_", "RGK_"),
        &key.replace("AA", "A+"),
        // Its last character has bits that no 32 bytes have.
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
            disabled: false,
        };
        let key = KeyBearer { digest: String::new(), key_id: 1, role, expires_at: None, user };
        key.into_bounded_user().role
    };
    for stored in Role::BUILT_IN {
        assert_eq!(effective(stored, None), stored);
        assert_eq!(effective(stored, Some(Role::ADMIN)), stored);
        assert_eq!(effective(stored, Some(Role::USER)), Role::USER);
    }
    assert_eq!(effective(Role::ADMIN, Some(Role::AUTHOR)), Role::AUTHOR);
}
