use super::{ForeignHash, HashRejection, translate};

/// Hashes that the real libraries have written.
const SAMPLES: &str = include_str!("../../../test-data/foreign-hashes.jsonl");

#[derive(serde::Deserialize)]
struct Sample {
    made_by: String,
    password: String,
    password_hash: String,
}

fn samples() -> impl Iterator<Item = Sample> {
    SAMPLES
        .lines()
        .map(|line| serde_json::from_str(line).expect("a sample"))
}

fn matches(hash: &str, password: &str) -> bool {
    let hash = ForeignHash::parse(hash).unwrap_or_else(|error| panic!("{error}"));
    hash.matches(password)
}

fn problem(hash: &str) -> Option<HashRejection> {
    ForeignHash::parse(hash).err()
}

#[test]
fn hashes_by_the_real_libraries_match_their_password_only() {
    let mut count = 0;
    for sample in samples() {
        let stored = translate(&sample.password_hash).expect("translated");
        if stored.starts_with("$2") || stored.starts_with("$wp") {
            continue;
        }
        assert!(matches(&stored, &sample.password), "{}", sample.made_by);
        let wrong = format!("{}x", sample.password);
        assert!(!matches(&stored, &wrong), "{}", sample.made_by);
        count += 1;
    }
    assert!(count >= 28, "{count}");
}

#[test]
fn translated_hashes_have_one_of_the_stored_forms() {
    for sample in samples() {
        let stored = translate(&sample.password_hash).expect("translated");
        let forms = [
            "$2",
            "$wp$2y$",
            "$argon2",
            "$scrypt$",
            "$pbkdf2-",
            "pbkdf2_sha256$",
            "nfkc:",
        ];
        assert!(
            forms.iter().any(|form| stored.starts_with(form)),
            "{}",
            sample.made_by
        );
        assert_eq!(
            translate(&stored),
            Ok(stored.clone()),
            "an export can be imported"
        );
    }
}

#[test]
fn only_hashes_of_better_auth_match_other_spellings_of_the_password() {
    let hash = |made_by: &str| {
        let sample = samples()
            .find(|sample| sample.made_by.starts_with(made_by))
            .expect("there");
        translate(&sample.password_hash)
            .expect("translated")
            .into_owned()
    };
    let (composed, decomposed) = ("corréct horse", "corre\u{301}ct horse");
    for (made_by, is_match) in [("better-auth", true), ("Werkzeug", false)] {
        assert!(matches(&hash(made_by), composed));
        assert_eq!(matches(&hash(made_by), decomposed), is_match, "{made_by}");
    }
    let parsed = ForeignHash::parse(&hash("better-auth")).unwrap_or_else(|_| panic!("parsed"));
    assert_eq!(
        [
            parsed.is_exact_for(composed),
            parsed.is_exact_for(decomposed)
        ],
        [true, false]
    );
}

#[test]
fn parameters_over_256_mib_or_ten_seconds_are_refused() {
    let argon2 = |m: u32, t: u32| {
        problem(&format!(
            "$argon2id$v=19$m={m},t={t},p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA"
        ))
    };
    assert_eq!(argon2(262_144, 1), None);
    assert_eq!(argon2(262_145, 1), Some(HashRejection::TooMuchMemory));
    assert_eq!(argon2(262_144, 40), None);
    assert_eq!(argon2(262_144, 41), Some(HashRejection::TooMuchWork));
    assert_eq!(argon2(8, u32::MAX), Some(HashRejection::TooMuchWork));
    let scrypt = |ln: u32, r: u32, p: u32| {
        problem(&format!(
            "$scrypt$ln={ln},r={r},p={p}$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA"
        ))
    };
    assert_eq!(scrypt(18, 8, 1), None);
    assert_eq!(scrypt(19, 8, 1), Some(HashRejection::TooMuchMemory));
    assert_eq!(scrypt(1, 8, 1 << 19), Some(HashRejection::TooMuchMemory));
    assert_eq!(scrypt(14, 8, 1000), Some(HashRejection::TooMuchWork));
    assert_eq!(
        scrypt(31, u32::MAX, u32::MAX),
        Some(HashRejection::TooMuchMemory)
    );
    assert_eq!(scrypt(u32::MAX, 1, 1), Some(HashRejection::TooMuchMemory));
    let pbkdf2 = |iterations: u32| {
        let digest = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        assert_eq!(
            problem(&format!("$pbkdf2-sha256${iterations}$c2FsdA${digest}")),
            problem(&format!("pbkdf2_sha256${iterations}$salt${digest}=")),
        );
        problem(&format!("pbkdf2_sha256${iterations}$salt${digest}="))
    };
    assert_eq!(pbkdf2(1_200_000), None, "the default of Django 6");
    assert_eq!(pbkdf2(u32::MAX), Some(HashRejection::TooMuchWork));
    // A digest of two blocks of SHA-256 takes as much work as twice the iterations.
    let of_bytes = |prf: &str, iterations: u32, bytes: usize| {
        let digest = "A".repeat(bytes.div_ceil(3) * 4 - (3 - bytes % 3) % 3);
        problem(&format!("$pbkdf2-{prf}${iterations}$c2FsdA${digest}"))
    };
    assert_eq!(of_bytes("sha256", 7_000_000, 32), None);
    assert_eq!(
        of_bytes("sha256", 7_000_000, 64),
        Some(HashRejection::TooMuchWork)
    );
    assert_eq!(of_bytes("sha512", 2_500_000, 64), None);
    assert_eq!(
        of_bytes("sha512", 2_700_000, 64),
        Some(HashRejection::TooMuchWork)
    );
}

#[test]
fn malformed_and_unknown_hashes_are_refused_without_a_panic() {
    use HashRejection::{Malformed, UnknownFormat};
    let tail = "$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA";
    for (hash, expected) in [
        (String::new(), UnknownFormat),
        ("secret".into(), UnknownFormat),
        ("$1$salt$digest".into(), UnknownFormat),
        ("pbkdf2_sha1$1000$salt$AAAA".into(), UnknownFormat),
        ("argon2$argon2id$v=19$m=8,t=1,p=1".into(), UnknownFormat),
        (format!("$argon2d$v=19$m=8,t=1,p=1{tail}"), UnknownFormat),
        (format!("$argon2$v=19$m=8,t=1,p=1{tail}"), UnknownFormat),
        (
            format!("$argon2id$v=20$m=8,t=1,p=1{tail}"),
            Malformed("argon2"),
        ),
        (
            format!("$argon2id$v=19$m=8,t=0,p=1{tail}"),
            Malformed("argon2"),
        ),
        (
            format!("$argon2id$v=19$m=8,t=1,p=1,keyid=AAAA{tail}"),
            Malformed("argon2"),
        ),
        (
            format!("$argon2id$v=19$m=99999999999,t=1,p=1{tail}"),
            Malformed("argon2"),
        ),
        (
            "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ".into(),
            Malformed("argon2"),
        ),
        ("$argon2id$v=19$m=8,t=1,p=1$é$é".into(), Malformed("argon2")),
        (format!("$scrypt$ln=4,r=8{tail}"), Malformed("scrypt")),
        (format!("$scrypt$ln=4,r=0,p=1{tail}"), Malformed("scrypt")),
        (
            format!("$scrypt$ln=4,r=8,p=1,x=1{tail}"),
            Malformed("scrypt"),
        ),
        ("pbkdf2_sha256$0$salt$AAAA".into(), Malformed("PBKDF2")),
        ("pbkdf2_sha256$+9$salt$AAAA".into(), Malformed("PBKDF2")),
        ("pbkdf2_sha256$1000$salt$AAAA".into(), Malformed("PBKDF2")),
        ("pbkdf2_sha256$1000$salt".into(), Malformed("PBKDF2")),
        ("$pbkdf2-sha256$1000$sa+t$AAAA".into(), Malformed("PBKDF2")),
    ] {
        assert_eq!(problem(&hash), Some(expected), "{hash}");
    }
}
