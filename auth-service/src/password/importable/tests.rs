use super::{HashCounts, HashExceptions, HashRejection, HashRules, NO_PASSWORD, Peppers};
use secrecy::SecretString;

const BCRYPT: &str = "$2b$05$YaQ3M.2V9WMtoWprPyr4J.Wm9MSwt6/mER48c5Lbgp269iVDbuery";
const ALL: HashRules = HashRules {
    max_cost: 16,
    min_percent: 0,
};

fn problem(hash: &str) -> Option<HashRejection> {
    ALL.translate(hash, &Peppers::default()).err()
}

/// Returns why an import with these flags, and with a `BCRYPT_COST` of 12, rejects a hash; `None` if it accepts
/// the hash.
fn problem_with(slow: bool, weak: bool, hash: &str) -> Option<HashRejection> {
    HashRules::new(12, HashExceptions { slow, weak })
        .translate(hash, &Peppers::default())
        .err()
}

fn of_cost(cost: &str) -> String {
    BCRYPT.replacen("05", cost, 1)
}

fn argon2(m: u32, t: u32) -> String {
    format!("$argon2id$v=19$m={m},t={t},p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA")
}

fn scrypt(ln: u32, p: u32) -> String {
    format!("$scrypt$ln={ln},r=8,p={p}$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA")
}

fn pbkdf2(prf: &str, iterations: u32) -> String {
    format!("$pbkdf2-{prf}${iterations}$c2FsdA$c2FsdHNhbHRzYWx0c2FsdA")
}

#[test]
fn every_sample_of_a_real_library_may_be_imported() {
    for line in include_str!("../../../test-data/foreign-hashes.jsonl").lines() {
        let sample: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let hash = sample["password_hash"].as_str().expect("text");
        assert_eq!(problem(hash), None, "{}", sample["made_by"]);
    }
}

#[test]
fn bcrypt_has_three_versions_and_thirteen_costs() {
    assert_eq!(
        [problem(&of_cost("04")), problem(&of_cost("16"))],
        [None, None]
    );
    assert_eq!(
        problem(&of_cost("17")),
        Some(HashRejection::CostOutOfRange(17))
    );
    assert_eq!(
        problem(&of_cost("03")),
        Some(HashRejection::Malformed("bcrypt"))
    );
    for hash in [
        &BCRYPT[..59],
        &BCRYPT.replacen("2b", "2x", 1),
        "$2b$05$",
        "$2",
        "$wp$2y$10$",
        "$wp$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA",
        "bcrypt$$2b$05$",
    ] {
        assert_eq!(
            problem(hash),
            Some(HashRejection::Malformed("bcrypt")),
            "{hash}"
        );
    }
}

#[test]
fn a_peppered_hash_needs_its_pepper() {
    let peppers = Peppers::new(&[SecretString::from("a pepper")]);
    let password = crate::password::Password::new("x".into(), 1).expect("valid");
    let scheme = peppers.prepare_new(&password).scheme;
    let hash = format!("{scheme}{BCRYPT}");
    let problem_of = |hash| ALL.translate(hash, &peppers).err();
    assert_eq!(problem_of(&hash), None);
    assert_eq!(problem_of(BCRYPT), None);
    assert_eq!(problem(&hash), Some(HashRejection::UnknownPepper));
    let foreign = format!("{scheme}$scrypt$ln=4,r=8,p=1$c2FsdHNhbHQ$c2FsdHNhbHRzYWx0c2FsdA");
    assert_eq!(
        problem_of(&foreign),
        Some(HashRejection::Malformed("bcrypt"))
    );
}

#[test]
fn bcrypt_above_14_and_the_cost_of_new_hashes_needs_a_flag() {
    let slow = HashRules::new(15, HashExceptions::default());
    for hash in [of_cost("15"), format!("$wp{}", of_cost("15"))] {
        assert_eq!(
            problem_with(false, false, &hash),
            Some(HashRejection::TooSlow(15))
        );
        assert_eq!(problem_with(true, false, &hash), None);
        assert_eq!(slow.translate(&hash, &Peppers::default()).err(), None);
    }
    assert_eq!(problem_with(false, false, &of_cost("14")), None);
    let cost_16 = slow.translate(&of_cost("16"), &Peppers::default()).err();
    assert_eq!(cost_16, Some(HashRejection::TooSlow(16)));
}

#[test]
fn a_hash_below_a_tenth_of_the_minimum_needs_a_flag() {
    for (weak, enough) in [
        (of_cost("06"), of_cost("07")),
        (argon2(4_710, 1), argon2(4_711, 1)),
        (argon2(716, 5), argon2(717, 5)),
        (scrypt(13, 1), scrypt(14, 1)),
        (pbkdf2("sha256", 59_999), pbkdf2("sha256", 60_000)),
        (pbkdf2("sha512", 21_999), pbkdf2("sha512", 22_000)),
        (
            "pbkdf2_sha256$1$salt$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".into(),
            of_cost("12"),
        ),
    ] {
        assert_eq!(
            problem_with(false, false, &weak),
            Some(HashRejection::TooWeak),
            "{weak}"
        );
        assert_eq!(problem_with(false, true, &weak), None, "{weak}");
        assert_eq!(problem_with(false, false, &enough), None, "{enough}");
    }
}

#[test]
fn hashes_below_the_minimum_are_counted() {
    for (below, minimum) in [
        (of_cost("09"), of_cost("10")),
        (
            format!("$wp{}", of_cost("09")),
            format!("hmac-sha256:ID:{}", of_cost("12")),
        ),
        (argon2(47_103, 1), argon2(47_104, 1)),
        (argon2(19_455, 2), argon2(19_456, 2)),
        (argon2(7_167, 9), argon2(7_168, 5)),
        (scrypt(16, 1), scrypt(17, 1)),
        (scrypt(14, 4), scrypt(14, 5)),
        (format!("nfkc:{}", scrypt(13, 9)), scrypt(13, 10)),
        (pbkdf2("sha256", 599_999), pbkdf2("sha256", 600_000)),
        (pbkdf2("sha512", 219_999), pbkdf2("sha512", 220_000)),
    ] {
        let (mut one, mut none) = (HashCounts::default(), HashCounts::default());
        one.add(&below);
        none.add(&minimum);
        assert_eq!(
            (one.weak, none),
            (1, HashCounts::default()),
            "{below} {minimum}"
        );
    }
    let mut counts = HashCounts::default();
    counts.add(NO_PASSWORD);
    counts.add(&of_cost("05"));
    let sentences = counts.sentences();
    assert!(
        sentences[0].starts_with("1 password hashes are below"),
        "{sentences:?}"
    );
    assert!(
        sentences[1].starts_with("1 users have no password"),
        "{sentences:?}"
    );
}

#[test]
fn hashes_that_are_not_read_are_refused_by_their_name() {
    let base64 = |bytes: &[u8]| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes);
    let sha1_of_asp_net = [&[1, 0, 0, 0, 0, 0, 0, 39, 16, 0, 0, 0, 16][..], &[7; 48]].concat();
    for (hash, name) in [
        (
            "$P$BFi6wY6bvEyXyjGrUDSrqkBUoUGJBT1".to_owned(),
            "phpass (WordPress before 6.8)",
        ),
        (
            "$H$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0".into(),
            "phpass (phpBB)",
        ),
        ("$S$DAAAAAAAAAAA".into(), "a hash of Drupal 7"),
        ("$1$salt$hash".into(), "MD5-crypt"),
        ("$5$salt$hash".into(), "SHA-256-crypt"),
        ("$6$salt$hash".into(), "SHA-512-crypt"),
        ("$y$j9T$salt$hash".into(), "yescrypt"),
        (
            "$argon2d$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$c2FsdHNhbHQ".into(),
            "argon2d",
        ),
        ("$pbkdf2$1300000$c2FsdA$AAAA".into(), "PBKDF2-SHA1"),
        ("pbkdf2_sha1$1300000$salt$AAAA".into(), "PBKDF2-SHA1"),
        ("pbkdf2:sha1:1300000$salt$00".into(), "PBKDF2-SHA1"),
        (base64(&sha1_of_asp_net), "PBKDF2-SHA1"),
        (base64(&[0; 49]), "ASP.NET Identity 2 (PBKDF2-SHA1)"),
        (
            format!("bcrypt_sha256${}", of_cost("12")),
            "Django's BCryptSHA256",
        ),
        (
            "$bcrypt-sha256$v=2,t=2b,r=12$salt$hash".into(),
            "passlib's bcrypt_sha256",
        ),
        ("md5$salt$0123".into(), "salted MD5"),
        ("sha1$salt$0123".into(), "salted SHA-1"),
        ("{SSHA}AAAA".into(), "a salted SHA of LDAP"),
        ("{CRYPT}AAAA".into(), "a hash of LDAP"),
        (
            "!kmuDYYxvJwkvPMsAgRhQ".into(),
            "an unusable password of Django",
        ),
        ("*".into(), "a locked account"),
        ("0".repeat(32), "MD5"),
        ("a".repeat(40), "SHA-1"),
        ("F".repeat(64), "SHA-256"),
        ("0".repeat(128), "SHA-512"),
        (base64(&[255; 64]), "scrypt of Firebase"),
        (base64(&[255; 64]).replace('/', "_"), "scrypt of Firebase"),
    ] {
        let expected = HashRejection::Unsupported(name);
        assert_eq!(problem(&hash), Some(expected), "{hash}");
        let text = expected.to_string();
        assert!(
            text.contains(name) && text.ends_with("import null, and reset the password"),
            "{text}"
        );
    }
}

#[test]
fn malformed_hashes_of_other_systems_are_refused_without_a_panic() {
    let key = "ab".repeat(64);
    let asp_net = |bytes: &[u8]| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes);
    for (hash, system) in [
        ("argon2$argon2id$v=19".to_owned(), "argon2"),
        ("scrypt$16384$salt$8$5".into(), "Django's scrypt"),
        ("scrypt$16383$salt$8$5$AAAA".into(), "Django's scrypt"),
        ("scrypt$0$salt$8$5$AAAA".into(), "Django's scrypt"),
        ("scrypt$16384$salt$8$5$?".into(), "Django's scrypt"),
        ("scrypt$16384$salt$8$5$AAAA$AAAA".into(), "Django's scrypt"),
        (
            format!("scrypt:32768:8$saltsalt${key}"),
            "Werkzeug's scrypt",
        ),
        (
            format!("scrypt:32768:8:1:1$saltsalt${key}"),
            "Werkzeug's scrypt",
        ),
        (format!("scrypt:-1:8:1$saltsalt${key}"), "Werkzeug's scrypt"),
        (
            format!("scrypt:32768:8:1$saltsalt${key}a"),
            "Werkzeug's scrypt",
        ),
        ("scrypt:32768:8:1$saltsalt$éé".into(), "Werkzeug's scrypt"),
        (format!("scrypt:32768:8,x=1:1$saltsalt${key}"), "scrypt"),
        (format!("scrypt:32768:8:1$salt${key}"), "scrypt"),
        ("pbkdf2:sha256:600000$salt".into(), "Werkzeug's PBKDF2"),
        ("pbkdf2:sha256:600000$salt$zz".into(), "Werkzeug's PBKDF2"),
        (format!("pbkdf2:sha256:0$salt${key}"), "PBKDF2"),
        (format!("pbkdf2:sha512:6$1$salt${key}"), "Werkzeug's PBKDF2"),
        (format!("pbkdf2:sha512:600000$salt${key}ab"), "PBKDF2"),
        ("pbkdf2:sha512:600000$salt$abab".into(), "PBKDF2"),
        (format!("{}:{}é", "0".repeat(32), &key[2..]), "better-auth"),
        (
            format!("{}:{}", "0".repeat(32), "x".repeat(128)),
            "better-auth",
        ),
        ("AQAAAA?".into(), "ASP.NET Identity"),
        ("AQAAAA==".into(), "ASP.NET Identity"),
        (
            asp_net(&[1, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0, 1, 2]),
            "ASP.NET Identity",
        ),
        (
            asp_net(&[1, 0, 0, 0, 2, 0, 1, 0, 0, 255, 255, 255, 255, 2]),
            "ASP.NET Identity",
        ),
        (
            asp_net(&[1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 2, 1, 2, 3]),
            "PBKDF2",
        ),
    ] {
        let expected = HashRejection::Malformed(system);
        assert_eq!(problem(&hash), Some(expected), "{hash}");
    }
    for hash in [
        format!("{}:{key}", "0".repeat(31)),
        format!("pbkdf2:md5:1$salt${key}"),
    ] {
        let expected = HashRejection::UnknownFormat;
        assert_eq!(problem(&hash), Some(expected), "{hash}");
    }
}
