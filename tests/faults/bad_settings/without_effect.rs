//! Tests settings that could never take effect, which are refused, and settings that trust every address, which cause
//! warnings.

use super::{AuthService, Gateway, PostsService, Program, Rolegate, expect_rejected, good};
use e2e::{Process, Store, TestDatabase};

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one table of settings")]
async fn value_that_could_never_take_effect_is_rejected_with_what_to_write() {
    let gateways = &[AuthService, PostsService][..];
    let public = &[Gateway, Rolegate][..];
    let browsers = &[AuthService, Gateway, Rolegate][..];
    let owners = &[AuthService, Rolegate][..];
    let every = &[AuthService, PostsService, Gateway, Rolegate][..];
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (programs, variable, value, advice) in [
        (
            public,
            "TRUSTED_PROXIES",
            "::ffff:127.0.0.0/104",
            "write 127.0.0.0/8",
        ),
        (
            public,
            "TRUSTED_PROXIES",
            "::ffff:10.1.2.3",
            "write 10.1.2.3/32",
        ),
        (public, "TRUSTED_PROXIES", "0.0.0.0", "write a network"),
        (public, "TRUSTED_PROXIES", "ff02::1", "write the network"),
        (
            gateways,
            "TRUSTED_GATEWAYS",
            "10.0.0.0/8,::ffff:127.0.0.0/104",
            "write 127.0.0.0/8",
        ),
        (gateways, "TRUSTED_GATEWAYS", "::", "write a network"),
        (
            &[AuthService],
            "AUTH_LISTEN_ADDR",
            "::ffff:127.0.0.0/104:0",
            "write 127.0.0.0/8:0",
        ),
        (
            &[PostsService],
            "POSTS_LISTEN_ADDR",
            "::ffff:127.0.0.0/104:0",
            "write 127.0.0.0/8:0",
        ),
        (
            browsers,
            "COOKIE_DOMAIN",
            "co.uk",
            "use a domain of your own",
        ),
        (
            browsers,
            "COOKIE_DOMAIN",
            "github.io",
            "use a domain of your own",
        ),
        (
            browsers,
            "RETURN_ORIGINS",
            "https://*.co.uk",
            "not below a public suffix",
        ),
        (
            browsers,
            "RETURN_ORIGINS",
            "https://app.example.org:0",
            "such as https://app.example.org",
        ),
        (
            browsers,
            "SIGN_IN_URL",
            "https://auth.example.org:0/sign-in",
            "such as /sign-in",
        ),
        (
            public,
            "CORS_ALLOWED_ORIGINS",
            "https://app.example:0",
            "such as https://app.example",
        ),
        (
            every,
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "http://127.0.0.1:0",
            "such as http://127.0.0.1:4317",
        ),
        (
            owners,
            "USER_CHANGES_CERTIFICATES",
            "posts.internal",
            "set AUTH_TLS_CLIENT_CA_FILE",
        ),
        (
            &[PostsService],
            "POSTS_OF_DELETED_USERS",
            "delete",
            "set USER_CHANGES_KEY",
        ),
    ] {
        for &program in programs {
            let mut settings = good(program, &database);
            settings.insert(variable.to_owned(), value.to_owned());
            let line = expect_rejected(program, &settings, folder.path(), variable).await;
            assert!(line.contains(advice), "{line}");
        }
    }
}

/// For each program, the setting of the networks that it trusts.
const TRUSTING: [(Program, &str); 4] = [
    (AuthService, "TRUSTED_GATEWAYS"),
    (PostsService, "TRUSTED_GATEWAYS"),
    (Gateway, "TRUSTED_PROXIES"),
    (Rolegate, "TRUSTED_PROXIES"),
];

#[tokio::test]
async fn trust_in_everybody_is_a_warning_at_start_and_a_note_of_doctor() {
    let folder = tempfile::tempdir().expect("a folder");
    for (program, setting) in TRUSTING {
        let database = TestDatabase::create(Store::Sqlite).await;
        for (networks, is_everybody) in [
            ("0.0.0.0/0", true),
            ("10.0.0.0/8,::/0", true),
            ("0.0.0.0/1,128.0.0.0/1", true),
            ("0.0.0.0/1,::/1", false),
            ("none", false),
        ] {
            let mut settings = good(program, &database);
            settings.insert(setting.to_owned(), networks.to_owned());
            let warning = format!("{setting}: trusts every address");
            let mut process = Process::start(program, &settings, folder.path())
                .ready()
                .await;
            // The warning is logged before the listeners are announced, so it is there by now.
            let warns = process
                .stderr()
                .lines()
                .any(|line| line.contains(" WARN ") && line.contains(&warning));
            assert_eq!(warns, is_everybody, "{program:?} {networks}");
            process.kill().await;
            let doctor = Process::run(program, &["doctor"], &settings, folder.path(), "").await;
            let notes = doctor
                .stdout
                .lines()
                .any(|line| line.starts_with("note   trust ") && line.contains(&warning));
            assert_eq!(notes, is_everybody, "{program:?} {networks}: {doctor:?}");
        }
    }
}

#[tokio::test]
async fn settings_that_lead_in_a_circle_or_nowhere_are_warnings_at_start_and_notes_of_doctor() {
    const PAGE: (&str, &str) = ("SIGN_IN_URL", "https://auth.example.org/sign-in");
    const DOMAIN: (&str, &str) = ("COOKIE_DOMAIN", "example.org");
    const APPLICATION: (&str, &str) = ("RETURN_ORIGINS", "https://app.example.org");
    let folder = tempfile::tempdir().expect("a folder");
    for program in [AuthService, Gateway, Rolegate] {
        let database = TestDatabase::create(Store::Sqlite).await;
        for (chosen, warning) in [
            (&[PAGE][..], None),
            (&[PAGE, DOMAIN, APPLICATION], None),
            (
                &[PAGE, APPLICATION],
                Some("RETURN_ORIGINS: users of an application at app.example.org have to sign in"),
            ),
            (
                &[PAGE, DOMAIN],
                Some("RETURN_ORIGINS: has no host of COOKIE_DOMAIN"),
            ),
            (
                &[("SIGN_IN_URL", "/login")],
                Some("SIGN_IN_URL: the page is at /sign-in"),
            ),
            (
                &[PAGE, ("SIGN_IN", "off")],
                Some("SIGN_IN_URL: password links lead to https://auth.example.org"),
            ),
        ] {
            let mut settings = good(program, &database);
            let chosen = chosen
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            settings.extend(chosen);
            let is_of_sign_in =
                |line: &str| line.contains("SIGN_IN_URL: ") || line.contains("RETURN_ORIGINS: ");
            let expected: Vec<&str> = warning.into_iter().collect();
            let found = |text: &str, start: &str| -> Vec<String> {
                let lines = text
                    .lines()
                    .filter(|line| line.contains(start) && is_of_sign_in(line));
                lines.map(str::to_owned).collect()
            };
            let mut process = Process::start(program, &settings, folder.path())
                .ready()
                .await;
            let warnings = found(&process.stderr(), " WARN ");
            process.kill().await;
            let doctor = Process::run(program, &["doctor"], &settings, folder.path(), "").await;
            for lines in [warnings, found(&doctor.stdout, "note   settings ")] {
                let is_expected = lines.len() == expected.len()
                    && lines
                        .iter()
                        .zip(&expected)
                        .all(|(line, text)| line.contains(text));
                assert!(is_expected, "{program:?} {settings:?}: {lines:?}");
            }
        }
    }
}
