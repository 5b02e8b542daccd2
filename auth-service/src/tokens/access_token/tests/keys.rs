//! Tests which keys sign and which are accepted.

use super::{NOW, OTHER, SECRET, ada, hs256, tokens, verified};
use crate::tokens::{Keyring, SecretTooShort};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

#[test]
fn accepted_key_verifies_but_does_not_sign() {
    let old = tokens(OTHER, &[]);
    let both = tokens(SECRET, &[OTHER]);
    let token = old.issue(&ada(), NOW).expect("issued");
    assert_eq!(verified(&both, token.expose_secret()), Some(7));
    let token = both.issue(&ada(), NOW).expect("issued");
    assert_eq!(verified(&old, token.expose_secret()), None);
}

#[test]
fn replaced_keys_apply_to_clones_and_tokens_of_accepted_keys_stay_valid() {
    let ring = |signing: &str, accepted: &[&str]| {
        let accepted: Vec<_> = accepted
            .iter()
            .map(|&secret| SecretString::from(secret))
            .collect();
        Keyring::new(&SecretString::from(signing), &accepted).expect("long enough")
    };
    let tokens = tokens(SECRET, &[]);
    let other = tokens.clone();
    let old = tokens.issue(&ada(), NOW).expect("issued");
    tokens.replace_keys(ring(OTHER, &[SECRET]));
    let new = tokens.issue(&ada(), NOW).expect("issued");
    let header = |token: &SecretString| token.expose_secret().split('.').next().map(str::to_owned);
    assert_ne!(header(&old), header(&new), "each has the kid of its key");
    for token in [&old, &new] {
        assert_eq!(verified(&other, token.expose_secret()), Some(7));
    }
    let without_kid = hs256(&json!({"sub": "7", "exp": NOW + 60}));
    assert_eq!(
        verified(&other, &without_kid),
        Some(7),
        "all keys are tried"
    );
    tokens.replace_keys(ring(OTHER, &[OTHER]));
    assert_eq!(verified(&other, new.expose_secret()), Some(7));
    for refused in [old.expose_secret(), &without_kid] {
        assert_eq!(verified(&other, refused), None);
    }
}

#[test]
fn short_secret_is_rejected_and_debug_output_hides_secrets() {
    let error = Keyring::new(&SecretString::from(&SECRET[1..]), &[]).expect_err("31 bytes");
    assert_eq!(error, SecretTooShort);
    let keyring = Keyring::new(&SecretString::from(SECRET), &[]).expect("32 bytes");
    assert!(!format!("{keyring:?}").contains(SECRET));
}
