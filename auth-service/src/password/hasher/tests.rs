use super::super::foreign_hash::translate;
use super::{
    CallOrigin, HashError, Hasher, NO_PASSWORD, Password, Peppers, PresentedPassword, Verification,
};
use secrecy::{ExposeSecret, SecretString};
use std::time::{Duration, Instant};

fn password(text: &str) -> Option<Password> {
    Password::new(SecretString::from(text), 1).ok()
}

fn hasher(cost: u32) -> Hasher {
    with_peppers(cost, &[])
}

fn with_peppers(cost: u32, peppers: &[&str]) -> Hasher {
    let secrets: Vec<_> = peppers
        .iter()
        .map(|&pepper| SecretString::from(pepper))
        .collect();
    let engine = rolegate_bcrypt_lanes::Settings::default();
    Hasher::start(cost, engine, Peppers::new(&secrets)).expect("started")
}

fn origin() -> CallOrigin {
    let deadline = Instant::now() + Duration::from_mins(1);
    CallOrigin {
        client_address: None,
        deadline,
    }
}

async fn check(hasher: &Hasher, text: &str, stored: Option<&SecretString>) -> Verification {
    let presented = PresentedPassword::new(SecretString::from(text)).ok();
    hasher
        .verify(presented.as_ref(), stored, origin())
        .await
        .expect("verified")
}

#[tokio::test]
async fn password_matches_only_its_own_hash() {
    let hasher = hasher(4);
    let sesame = password("sesame").expect("valid");
    let hash = hasher.hash(&sesame, origin()).await.expect("hashed");
    assert!(hash.expose_secret().starts_with("$2b$04$"));
    assert!(check(&hasher, "sesame", Some(&hash)).await.is_match);
    assert!(!check(&hasher, "Sesame", Some(&hash)).await.is_match);
    assert!(!check(&hasher, "sesame", None).await.is_match);
    assert!(
        !check(&hasher, "sesame", Some(&SecretString::from("sesame")))
            .await
            .is_match
    );
}

#[tokio::test]
async fn a_client_has_32_passwords_in_progress_at_most() {
    let hasher = hasher(4);
    let slots: Vec<_> = (0..32)
        .map(|_| hasher.slots.acquire(origin().client_key()))
        .collect();
    assert!(slots.iter().all(Option::is_some));
    assert!(hasher.admit(origin()).await.is_err());
    let other = CallOrigin {
        client_address: Some([192, 0, 2, 1].into()),
        ..origin()
    };
    assert!(hasher.admit(other).await.is_ok());
    drop(slots);
    assert!(hasher.admit(origin()).await.is_ok());
}

#[tokio::test]
async fn invalid_password_never_matches() {
    let hasher = hasher(4);
    let empty = SecretString::from(bcrypt::hash("", 4).expect("hashed"));
    assert!(!check(&hasher, "", Some(&empty)).await.is_match);
}

#[tokio::test]
async fn peppered_hash_needs_its_pepper_and_is_replaced_when_there_is_a_newer_one() {
    let sesame = password("sesame").expect("valid");
    let plain = hasher(4).hash(&sesame, origin()).await.expect("hashed");
    let first = with_peppers(4, &["one"])
        .hash(&sesame, origin())
        .await
        .expect("hashed");
    let (scheme, bcrypt) = first.expose_secret().rsplit_once(':').expect("three parts");
    assert!(
        scheme.starts_with("hmac-sha256:") && bcrypt.starts_with("$2b$04$"),
        "{scheme}"
    );
    // This is base64(HMAC-SHA-256("one", "sesame")) as openssl computes it.
    let input = "rYU/+A//TzZ91IB2VxufbAre0wMk86ZcG3Foqq+7mMQ=";
    assert!(bcrypt::verify(input, bcrypt).expect("a hash of bcrypt"));
    assert!(!bcrypt::verify("sesame", bcrypt).expect("a hash of bcrypt"));

    let matches = |needs_rehash| Verification {
        is_match: true,
        needs_rehash,
    };
    for (peppers, of_plain, of_first) in [
        (&["one"][..], matches(true), matches(false)),
        (&["one", "two"], matches(true), matches(false)),
        (&["two", "one"], matches(true), matches(true)),
    ] {
        let hasher = with_peppers(4, peppers);
        assert_eq!(
            check(&hasher, "sesame", Some(&plain)).await,
            of_plain,
            "{peppers:?}"
        );
        assert_eq!(
            check(&hasher, "sesame", Some(&first)).await,
            of_first,
            "{peppers:?}"
        );
        assert!(!check(&hasher, "Sesame", Some(&first)).await.is_match);
    }
    for peppers in [&[][..], &["two"]] {
        let hasher = with_peppers(4, peppers);
        let presented = PresentedPassword::Valid(sesame.clone());
        let unknown = hasher
            .verify(Some(&presented), Some(&first), origin())
            .await;
        assert!(
            matches!(unknown, Err(HashError::UnknownPepper)),
            "{unknown:?}"
        );
    }
}

#[tokio::test]
async fn a_foreign_hash_needs_rehash_unless_bcrypt_would_cut_the_password() {
    let passphrase = "a passphrase of more than the 72 bytes that bcrypt reads, which argon2 took: xxxxxxxxxxxxxxxxxxxx";
    let of_long = "$argon2id$v=19$m=1024,t=3,p=4$8Qooz3GRUC0rtz+XfNejRQ$IeDyAf/rkAz+5k0wqzU1ovqOM11k7qsxa65n7XckifQ";
    let of_short = "$argon2i$v=19$m=1024,t=3,p=4$rXVOyVlrTcm5V+r9n5Oylg$EceDiYZz5d2nfZqktTmjACCB4eEBIfYZsZxNGL/FGEw";
    // A hash of another algorithm has no pepper until it is replaced.
    for hasher in [hasher(4), with_peppers(4, &["one"])] {
        let stored = SecretString::from(of_short);
        let right = check(&hasher, "corréct horse", Some(&stored)).await;
        assert_eq!(
            right,
            Verification {
                is_match: true,
                needs_rehash: true
            }
        );
        assert!(
            !check(&hasher, "correct horse", Some(&stored))
                .await
                .is_match
        );
        let long = check(&hasher, passphrase, Some(&SecretString::from(of_long))).await;
        assert_eq!(
            long,
            Verification {
                is_match: true,
                needs_rehash: false
            }
        );
        let cut = SecretString::from(bcrypt::hash(&passphrase[..72], 4).expect("hashed"));
        assert!(
            !check(&hasher, passphrase, Some(&cut)).await.is_match,
            "the rule of bcrypt"
        );
        let over_limit = of_short.replace("m=1024", "m=9999999");
        let stored = SecretString::from(over_limit);
        assert!(
            !check(&hasher, "corréct horse", Some(&stored))
                .await
                .is_match
        );
    }
}

#[tokio::test]
async fn a_hash_of_wordpress_is_of_the_trimmed_password_and_is_replaced_if_it_had_no_space() {
    let hash = "$wp$2y$05$ZN9jvzSn.706zhwViiy67unM.v3e9pfmIxENBJMyA/lZ9RAku4UWu";
    let stored = SecretString::from(hash);
    for hasher in [hasher(4), with_peppers(5, &["one"])] {
        for (text, is_match, needs_rehash) in [
            ("corréct horse", true, true),
            (" corréct horse\n", true, false),
            ("\u{a0}corréct horse", false, false),
            ("correct horse", false, false),
        ] {
            let found = check(&hasher, text, Some(&stored)).await;
            assert_eq!(
                found,
                Verification {
                    is_match,
                    needs_rehash
                },
                "{text:?}"
            );
        }
    }
}

#[tokio::test]
async fn nothing_matches_where_there_is_no_password_after_the_work_of_an_unknown_name() {
    let hasher = hasher(4);
    let none = SecretString::from(NO_PASSWORD);
    let mut checks = 0;
    for stored in [None, Some(&none)] {
        for text in [NO_PASSWORD, "sesame", ""] {
            assert!(!check(&hasher, text, stored).await.is_match);
            checks += 1;
        }
    }
    let patience = Instant::now() + Duration::from_mins(1);
    while hasher.stats().completed < checks {
        assert!(Instant::now() < patience, "a check without a hash");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn hasher_that_only_accepts_peppers_replaces_their_hashes_by_plain_ones() {
    let sesame = password("sesame").expect("valid");
    let peppered = with_peppers(4, &["one"])
        .hash(&sesame, origin())
        .await
        .expect("hashed");
    let peppers = Peppers::only_accepting(&["one".into(), "two".into()]);
    let engine = rolegate_bcrypt_lanes::Settings::default();
    let hasher = Hasher::start(4, engine, peppers).expect("started");
    let plain = hasher.hash(&sesame, origin()).await.expect("hashed");
    assert!(plain.expose_secret().starts_with("$2b$04$"));
    for (stored, needs_rehash) in [(&plain, false), (&peppered, true)] {
        let expected = Verification {
            is_match: true,
            needs_rehash,
        };
        assert_eq!(check(&hasher, "sesame", Some(stored)).await, expected);
        assert!(!check(&hasher, "Sesame", Some(stored)).await.is_match);
    }
}

#[tokio::test]
async fn only_a_correct_password_needs_rehash() {
    let stored = SecretString::from(bcrypt::hash("sesame", 4).expect("hashed"));
    let hasher = hasher(5);
    let right = check(&hasher, "sesame", Some(&stored)).await;
    assert_eq!(
        right,
        Verification {
            is_match: true,
            needs_rehash: true
        }
    );
    let wrong = check(&hasher, "Sesame", Some(&stored)).await;
    assert_eq!(
        wrong,
        Verification {
            is_match: false,
            needs_rehash: false
        }
    );
}

/// Prints how long refusals take for each kind of stored hash. The hashes are computed by optimized code even
/// in a debug build.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
#[expect(clippy::print_stderr, reason = "prints what it measures")]
async fn refusals_of_imported_and_native_hashes_by_duration() {
    const ROUNDS: usize = 15;
    let hasher = hasher(12);
    let native = SecretString::from(bcrypt::hash("sesame", 12).expect("hashed"));
    let samples = include_str!("../../../test-data/foreign-hashes.jsonl").lines();
    let sample = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    let hash = |line| {
        let line = sample(line);
        let stored = translate(line["password_hash"].as_str().expect("text"));
        SecretString::from(stored.expect("translated").into_owned())
    };
    let foreign = samples
        .map(hash)
        .filter(|hash| !hash.expose_secret().starts_with("$2"));
    let stored: Vec<_> = [None, Some(native)]
        .into_iter()
        .chain(foreign.map(Some))
        .collect();
    for stored in stored {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let started = Instant::now();
            assert!(!check(&hasher, "wrong", stored.as_ref()).await.is_match);
            times.push(started.elapsed());
        }
        times.sort();
        let name = stored
            .as_ref()
            .map_or("unknown name", |hash| hash.expose_secret());
        let name: String = name.chars().take(34).collect();
        eprintln!("{:>6.1} ms  {name}", times[ROUNDS / 2].as_secs_f64() * 1e3);
    }
}
