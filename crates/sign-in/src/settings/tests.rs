//! Tests which values are accepted, and which combinations cause a warning.

use super::SignInSettings;
use clap::{Args as _, Command, FromArgMatches as _};

fn read(args: &[&str]) -> Result<SignInSettings, String> {
    let command = SignInSettings::augment_args(Command::new("test").no_binary_name(true));
    let matches = command
        .try_get_matches_from(args)
        .map_err(|error| error.to_string())?;
    let settings = SignInSettings::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    settings.read().map_err(|error| error.to_string())?;
    Ok(settings)
}

#[test]
fn page_is_on_at_the_own_host_by_default_and_can_be_off() {
    assert!(
        read(&[])
            .expect("defaults")
            .read()
            .expect("valid")
            .is_some()
    );
    assert!(
        read(&["--sign-in", "off"])
            .expect("off")
            .read()
            .expect("valid")
            .is_none()
    );
}

#[test]
fn good_values_are_accepted() {
    for good in [
        &["--sign-in-url", "/sign-in"][..],
        &["--sign-in-url", "https://auth.example.org/sign-in"],
        &["--sign-in-url", "http://localhost:8000/sign-in"],
        &[
            "--cookie-domain",
            "example.org",
            "--sign-in-url",
            "https://auth.example.org/sign-in",
        ],
        &[
            "--cookie-domain",
            "example.org",
            "--sign-in-url",
            "https://example.org/sign-in",
        ],
        &["--return-origins", "https://*.example.org"],
    ] {
        assert!(read(good).is_ok(), "{good:?}: {:?}", read(good));
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn settings_that_lead_in_a_circle_or_nowhere_are_told_apart_from_those_that_work() {
    let page = "https://auth.example.org/sign-in";
    let nowhere = "SIGN_IN_URL: password links lead to https://auth.example.org, but SIGN_IN=off";
    let missing = "SIGN_IN_URL: the page is at /sign-in";
    let circle = "RETURN_ORIGINS: users of an application at ";
    let not_back = "RETURN_ORIGINS: has no host of COOKIE_DOMAIN";
    for (off, url, domain, origins, expected) in [
        // One setting differs from its default.
        (false, "/sign-in", "", "", &[][..]),
        (false, page, "", "", &[]),
        (false, "/sign-in", "", "https://app.example.org", &[]),
        (true, "/sign-in", "", "", &[]),
        (false, "/login", "", "", &[missing]),
        (
            false,
            "https://auth.example.org/a/sign-in",
            "",
            "",
            &[missing],
        ),
        (false, "https://auth.example.org/", "", "", &[missing]),
        // Two settings differ from their defaults.
        (true, page, "", "", &[nowhere]),
        (true, page, "example.org", "", &[nowhere]),
        (true, "/sign-in", "", "https://app.example.org", &[]),
        (false, page, "", "https://app.example.org", &[circle]),
        (
            false,
            page,
            "",
            "https://*.example.org,https://auth.example.org:8443",
            &[circle],
        ),
        (false, page, "", "https://auth.example.org:8443", &[]),
        // A cookie has no port, so it reaches both applications.
        (
            false,
            "http://localhost:8000/sign-in",
            "",
            "http://localhost:3000",
            &[],
        ),
        (false, page, "example.org", "", &[not_back]),
        (
            false,
            page,
            "example.org",
            "https://auth.example.org",
            &[not_back],
        ),
        // All settings together.
        (false, page, "example.org", "https://*.example.org", &[]),
        (
            false,
            page,
            "example.org",
            "https://app.example.org,https://example.org",
            &[],
        ),
        (
            false,
            page,
            "example.org",
            "https://*.apps.example.org",
            &[],
        ),
        (
            false,
            "https://sso.apps.example.org/sign-in",
            "apps.example.org",
            "https://*.example.org",
            &[],
        ),
        (
            false,
            "https://example.org/sign-in",
            "example.org",
            "https://*.example.org",
            &[],
        ),
        (
            false,
            "https://sso.apps.example.org/sign-in",
            "apps.example.org",
            "https://example.org",
            &[circle, not_back],
        ),
        (
            false,
            page,
            "example.org",
            "https://app.example.net",
            &[circle, not_back],
        ),
        (
            false,
            page,
            "example.org",
            "https://*.example.org,https://evilexample.org",
            &[circle],
        ),
    ] {
        let mut args = vec!["--sign-in-url", url, "--return-origins", origins];
        if off {
            args.extend(["--sign-in", "off"]);
        }
        if !domain.is_empty() {
            args.extend(["--cookie-domain", domain]);
        }
        let warnings = read(&args).expect("accepted").warnings();
        let is_expected = warnings.len() == expected.len()
            && warnings
                .iter()
                .zip(expected)
                .all(|(it, start)| it.starts_with(start));
        assert!(is_expected, "{args:?}: {warnings:?}");
    }
}

#[test]
fn domain_below_which_anybody_can_have_a_host_is_rejected() {
    for domain in ["co.uk", "com.au", "github.io", "s3.amazonaws.com", "any.ck"] {
        let page = format!("https://auth.{domain}/sign-in");
        let wrong = ["--cookie-domain", domain, "--sign-in-url", &page];
        assert!(read(&wrong).is_err(), "{domain}");
    }
    for domain in [
        "example.co.uk",
        "me.github.io",
        "www.ck",
        "corp.internal",
        "sso.home.arpa",
    ] {
        let page = format!("https://auth.{domain}/sign-in");
        let good = ["--cookie-domain", domain, "--sign-in-url", &page];
        assert!(read(&good).is_ok(), "{domain}: {:?}", read(&good));
    }
    let error = read(&["--cookie-domain", "co.uk"]).expect_err("a public suffix");
    assert!(error.contains("is a public suffix"), "{error}");
    for origins in ["https://*.co.uk", "https://*.github.io"] {
        assert!(read(&["--return-origins", origins]).is_err(), "{origins}");
    }
    for origins in ["https://*.example.co.uk", "https://*.corp.internal"] {
        assert!(read(&["--return-origins", origins]).is_ok(), "{origins}");
    }
}

#[test]
fn other_values_are_rejected() {
    let on_domain = |domain| {
        [
            "--cookie-domain",
            domain,
            "--sign-in-url",
            "https://auth.example.org/",
        ]
    };
    for domain in [
        "",
        ".example.org",
        "example.org.",
        "org",
        "Example.org",
        "127.0.0.1",
        "-a.example.org",
        "a-.example.org",
        "a b.org",
        "a;b.org",
    ] {
        assert!(read(&on_domain(domain)).is_err(), "{domain:?}");
    }
    let long_label = format!("{}.example.org", "a".repeat(64));
    assert!(read(&on_domain(&long_label)).is_err());
    for url in [
        "",
        "sign-in",
        "//evil.example/sign-in",
        "/sign in",
        "/sign-in?x",
        "/sign-in#x",
        "/\\evil.example",
        "http://auth.example.org/sign-in",
        "https://me@auth.example.org/sign-in",
        "https://auth.example.org:0/sign-in",
        "javascript:alert(1)",
        "/sign-in\r\nX: y",
    ] {
        assert!(read(&["--sign-in-url", url]).is_err(), "{url:?}");
    }
    for url in [
        "/sign-in",
        "https://auth.evil.org/",
        "https://evilexample.org/",
        "http://localhost/",
    ] {
        assert!(
            read(&["--cookie-domain", "example.org", "--sign-in-url", url]).is_err(),
            "{url}"
        );
    }
    for value in ["", "On", "true"] {
        assert!(read(&["--sign-in", value]).is_err(), "{value:?}");
    }
    for origins in ["*", "https://app.example.org:0", "http://localhost:0"] {
        assert!(read(&["--return-origins", origins]).is_err(), "{origins}");
    }
}
