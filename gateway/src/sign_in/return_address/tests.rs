//! Tests return addresses with the usual collection of open redirects, and with generated ones.

use super::{MAX_RETURN_ADDRESS_LEN, Origin, ReturnAddress, ReturnOrigins};
use proptest::prelude::*;

const OTHERS: &str = "https://app.example.org,https://*.example.net";

fn own() -> Origin {
    Origin::new("https", "own.example").expect("an origin")
}

fn at(path: &str) -> ReturnAddress {
    ReturnAddress {
        location: path.to_owned(),
    }
}

fn location(given: &str) -> Option<String> {
    let others: ReturnOrigins = OTHERS.parse().expect("origins");
    let address = ReturnAddress::parse(given, &own(), &others).ok()?;
    Some(address.location)
}

#[test]
fn address_of_the_own_origin_becomes_a_path() {
    for (given, expected) in [
        ("/", "/"),
        (
            "/reports?year=2026&a=%2F#top",
            "/reports?year=2026&a=%2F#top",
        ),
        ("https://own.example/reports", "/reports"),
        ("https://OWN.example:443/reports", "/reports"),
        ("https://own.example", "/"),
        ("//own.example/x", "/x"),
        ("/console/#/users", "/console/#/users"),
        ("reports", "/reports"),
        ("?a=b", "/?a=b"),
        ("/a/../b", "/b"),
        (
            "/?next=https://evil.example/",
            "/?next=https://evil.example/",
        ),
        ("/?next=//evil.example", "/?next=//evil.example"),
        ("/#//evil.example", "/#//evil.example"),
        ("/ü?ü#ü", "/%C3%BC?%C3%BC#%C3%BC"),
        ("/\"><script>", "/%22%3E%3Cscript%3E"),
        ("/a\r\nSet-Cookie: x=y", "/aSet-Cookie:%20x=y"),
        ("/%0d%0aSet-Cookie:%20x=y", "/%0d%0aSet-Cookie:%20x=y"),
        ("/a\0b", "/a%00b"),
        // Browsers do not take percent-encoded characters for separators.
        ("/%2F/evil.example", "/%2F/evil.example"),
        ("/%5Cevil.example", "/%5Cevil.example"),
        ("/%09/evil.example", "/%09/evil.example"),
        // These look like another host, but browsers read them as a path.
        ("evil.example", "/evil.example"),
        ("https:evil.example", "/evil.example"),
        ("@evil.example", "/@evil.example"),
        (".evil.example", "/.evil.example"),
    ] {
        assert_eq!(location(given).as_deref(), Some(expected), "{given:?}");
    }
}

#[test]
fn allowed_origin_is_gone_back_to() {
    for (given, expected) in [
        ("https://app.example.org", "https://app.example.org/"),
        (
            "https://app.example.org/a?b#c",
            "https://app.example.org/a?b#c",
        ),
        ("//app.example.org/a", "https://app.example.org/a"),
        ("https:\\\\app.example.org\\a", "https://app.example.org/a"),
        (
            "https://app.example.org//evil.example",
            "https://app.example.org//evil.example",
        ),
        ("https://a.b.example.net/", "https://a.b.example.net/"),
    ] {
        assert_eq!(location(given).as_deref(), Some(expected), "{given:?}");
    }
}

#[test]
fn every_open_redirect_is_refused() {
    for given in [
        "",
        "//evil.example",
        "///evil.example",
        "////evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "\\/evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "/\r\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "\0//evil.example",
        "\u{1}//evil.example",
        "/.//evil.example",
        "/..//evil.example",
        "/a/..//evil.example",
        "/%2e//evil.example",
        "/%2E%2e//evil.example",
        "/.\\/evil.example",
        "/.\\\\evil.example",
        "https://own.example//evil.example",
        "https://own.example/\\evil.example",
        "https://own.example/.//evil.example",
        "http://own.example/",
        "http:evil.example",
        "http:/evil.example",
        "http:///evil.example",
        "https:///evil.example",
        "https:\\\\evil.example",
        "https://evil.example",
        "HtTpS://evil.example",
        "h\tttps://evil.example",
        "https://own.example:8443/",
        "https://own.example@evil.example",
        "https://own.example:443@evil.example",
        "https://own.example%2F@evil.example",
        "https://evil.example\\@own.example",
        "https://evil.example#@own.example",
        "https://evil.example?@own.example",
        "https://me@own.example/",
        "https://me:secret@app.example.org/",
        "//me@own.example/",
        "https://own.example.evil.example",
        "https://own.example./",
        "https://own.example\u{3002}evil.example",
        "//own.example\u{ff0e}evil.example",
        "//evil\u{ff61}example",
        "https://ⓔvil.example",
        "https://own.exampl\u{435}/",
        "https://evilexample.net",
        "https://example.net",
        "https://app.example.org.evil.example",
        "http://app.example.org/",
        "https://app.example.org:8443/",
        "https://[::1]/",
        "https://2130706433/",
        "https://%65vil.example/",
        "https://",
        "https://:443/",
        "https://own.example:99999/",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        "\u{1}javascript:alert(1)",
        "javascript://own.example/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:msgbox(1)",
        "blob:https://own.example/8f2a",
        "blob:https://app.example.org/8f2a",
        "filesystem:https://own.example/temporary/a",
        "view-source:https://own.example/",
        "about:blank",
        "file:///etc/passwd",
        "ftp://own.example/",
        "ws://own.example/",
        "wss://own.example/",
        "intent://own.example#Intent;end",
        "mailto:a@own.example",
    ] {
        assert_eq!(location(given), None, "{given:?}");
    }
    assert_eq!(location(&format!("/{}", "a".repeat(3_000))), None);
    assert!(location(&format!("/{}", "a".repeat(MAX_RETURN_ADDRESS_LEN - 1))).is_some());
    // In normal form, each of these characters has six bytes.
    assert!(location(&"ü".repeat(341)).is_some());
    assert_eq!(location(&"ü".repeat(342)), None);
}

#[test]
fn over_plain_http_another_scheme_is_another_origin() {
    let own = Origin::new("http", "localhost:8000").expect("an origin");
    let parse = |given| ReturnAddress::parse(given, &own, &ReturnOrigins::default()).ok();
    for given in [
        "https:evil.example",
        "https:/evil.example",
        "https://localhost:8000/",
        "http://localhost/",
        "http://127.0.0.1:8000/",
        "//localhost",
        "http://localhost:8000@evil.example/",
    ] {
        assert_eq!(parse(given), None, "{given}");
    }
    assert_eq!(parse("http:evil.example"), Some(at("/evil.example")));
    assert_eq!(parse("http://localhost:8000/a"), Some(at("/a")));
}

#[test]
fn pages_that_use_the_cookie_of_the_console_are_told_apart() {
    for path in [
        "/console/",
        "/console",
        "/console/#/users",
        "/console?a",
        "/console/x",
        "/account",
        "/account?a#b",
        "/account/",
        "/account/keys",
    ] {
        assert!(at(path).is_in_console(), "{path}");
    }
    for path in [
        "/",
        "/consoles",
        "/a/console/",
        "/?/console/",
        "/#/console/",
        "/%63onsole/",
        "/accounts",
        "/account.html",
        "/x/account",
        "/Account",
        "/#/account",
    ] {
        assert!(!at(path).is_in_console(), "{path}");
    }
    let others: ReturnOrigins = OTHERS.parse().expect("origins");
    let elsewhere = ReturnAddress::parse("https://app.example.org/console/", &own(), &others);
    assert!(!elsewhere.expect("allowed").is_in_console());
}

/// The pieces of URLs about which parsers disagree.
const PIECES: &[&str] = &[
    "/",
    "\\",
    "//",
    ":",
    "@",
    "?",
    "#",
    ".",
    "..",
    "%2f",
    "%5c",
    "%2e",
    "%09",
    "\t",
    "\n",
    "\r",
    "\0",
    " ",
    "\u{3002}",
    "\u{a0}",
    "[",
    "\"",
    "https:",
    "http:",
    "javascript:",
    "blob:",
    "own.example",
    "evil.example",
    "app.example.org",
    "a.example.net",
    "443",
    "me",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(PIECES).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Checks the text itself, like a browser that looks at the start of an address only.
    #[test]
    fn whatever_is_given_leads_to_an_allowed_origin(
        pieces in proptest::collection::vec(piece(), 0..8),
    ) {
        let given = pieces.concat();
        let others: ReturnOrigins = OTHERS.parse().expect("origins");
        if let Ok(ReturnAddress { location }) =
            ReturnAddress::parse(&given, &own(), &others)
        {
            prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{location}");
            if let Some(rest) = location.strip_prefix('/') {
                prop_assert!(!rest.starts_with(['/', '\\']), "{location}");
            } else {
                let authority = location.strip_prefix("https://").unwrap_or_default();
                let host = authority.split('/').next().unwrap_or_default();
                let is_allowed = host == "app.example.org" || host.ends_with(".example.net");
                let is_plain = !host.contains(['@', '\\', ':', '?', '#', '%']);
                prop_assert!(is_allowed && is_plain, "{location}");
            }
            // The form sends the address back, and it is read again.
            let again = ReturnAddress::parse(&location, &own(), &others).map(|it| it.location);
            prop_assert_eq!(again.ok(), Some(location));
        }
    }
}
