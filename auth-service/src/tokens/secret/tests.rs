use super::SecretKind::{self, ApiKey, DomainSession, PasswordLink, PendingSignIn, Session};
use crate::tokens::{NewToken, SessionDetails, TokenDetails};
use secrecy::ExposeSecret as _;
use std::collections::BTreeSet;

#[test]
fn generated_tokens_differ_and_have_their_documented_form() {
    for (kind, start) in [(ApiKey, "rgk_"), (Session, "rgs_"), (DomainSession, "rgd_")] {
        let details = TokenDetails::Session(SessionDetails::default());
        let generate =
            || NewToken::generate(kind, 1, "a".to_owned(), 7, details.clone()).expect("randomness");
        let (one, other) = (generate(), generate());
        assert_ne!(one.token.expose_secret(), other.token.expose_secret());
        let token = one.token.expose_secret();
        assert!(token.len() == 47 && token.starts_with(start), "{token}");
        assert_eq!(SecretKind::detect(token), Some(kind));
        assert_eq!(one.stored.prefix, token[..8]);
        assert_eq!(one.digest.len(), 64);
        assert_eq!(kind.digest(token), Some(one.digest));
    }
}

#[test]
fn tokens_that_are_no_credentials_are_found_only_by_their_own_kind_and_binding() {
    let binding = "Api page";
    let pending = PendingSignIn { binding };
    for (kind, start) in [(PasswordLink, "rgl_"), (pending, "rgp_")] {
        let made = kind.generate().expect("randomness");
        let token = made.token.expose_secret();
        assert!(token.len() == 47 && token.starts_with(start), "{token}");
        assert_eq!(SecretKind::detect(token), None);
        assert_eq!(kind.digest(token), Some(made.digest.clone()));
        for other in [ApiKey, PasswordLink, PendingSignIn { binding: "Api" }] {
            assert!(other == kind || other.digest(token) != Some(made.digest.clone()));
        }
    }
}

#[test]
fn a_pending_sign_in_is_found_by_the_digest_of_its_token_and_binding_in_a_row() {
    // Replicas of earlier releases have stored these digests.
    let token = format!("rgp_{}", "A".repeat(43));
    let pending = PendingSignIn {
        binding: "ApiAndDomain https://a.example",
    };
    let expected = "8f60410411f6b1953a42135cfc181915e47db7c4519d73b6058e9b85a75d3281";
    assert_eq!(pending.digest(&token).as_deref(), Some(expected));
}

#[test]
fn digest_is_the_sha_256_of_the_key_as_sha256sum_prints_it() {
    let key = "rgk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let expected = "269f603c23b70a9e9d2d023c54443afa0fe269e471ee0996bb4d4e121c3fd272";
    assert_eq!(ApiKey.digest(key).as_deref(), Some(expected));
}

#[test]
fn malformed_tokens_have_no_digest() {
    let key = format!("rgk_{}", "A".repeat(43));
    let digest = |token: &str| SecretKind::detect(token)?.digest(token);
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
        for kind in [ApiKey, Session, DomainSession] {
            assert_eq!(kind.digest(text), None, "{text:?}");
        }
    }
}
