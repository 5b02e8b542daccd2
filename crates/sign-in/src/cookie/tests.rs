//! Tests which sessions are found in cookies, and what `Set-Cookie` says.

use super::Cookie;
use crate::origin::Origin;
use http::{HeaderMap, HeaderValue, header::COOKIE};
use proptest::{collection::vec, prelude::*, sample::select};
use secrecy::{ExposeSecret as _, SecretString};

fn loopback() -> Option<Origin> {
    Origin::new("http", "localhost:8000")
}

fn found(cookie: Cookie<'_>, values: &[&str]) -> String {
    let value = |value: &&str| {
        (
            COOKIE,
            HeaderValue::from_bytes(value.as_bytes()).expect("valid"),
        )
    };
    let headers: HeaderMap = values.iter().map(value).collect();
    cookie.find(&headers).map_or_else(
        |error| format!("{error:?}"),
        |session| session.map_or_else(|| "-".to_owned(), |it| it.expose_secret().to_owned()),
    )
}

#[test]
fn cookie_is_found_among_others_and_only_once() {
    let cookie = Cookie::for_host(None);
    let long = format!("__Host-rolegate=rgs_{}", "A".repeat(61));
    for (headers, expected) in [
        (&[][..], "-"),
        (&["a=b"], "-"),
        (&["a=b; __Host-rolegate=rgs_A; c=d"], "rgs_A"),
        (&["__Host-rolegate=rgs_A"], "rgs_A"),
        (&["a=b", "__Host-rolegate=rgs_A", "c=d"], "rgs_A"),
        (&["a=b;__Host-rolegate=rgs_A;c=d"], "rgs_A"),
        (&["__Host-rolegate=rgs_A; __Host-rolegate=rgs_A"], "TooMany"),
        (&["__Host-rolegate=rgs_A", "__Host-rolegate="], "TooMany"),
        (&["__Host-rolegate=rgs_A; __Host-rolegate"], "TooMany"),
        (&["__host-rolegate=rgs_A"], "-"),
        (&["__Host-rolegate-console=rgs_A"], "-"),
        (&["rolegate=rgs_A"], "-"),
        (&["x__Host-rolegate=rgs_A"], "-"),
        (&["__Host-rolegate"], "-"),
        (&["__Host-rolegate="], "-"),
        (&["__Host-rolegate=\"rgs_A\""], "-"),
        (&["__Host-rolegate=rgk_A"], "-"),
        (&["__Host-rolegate=rgd_A"], "-"),
        (&["__Host-rolegate=eyJ.eyJ.AAAA"], "-"),
        (&[long.as_str()], "-"),
        (&["a=\"x; __Host-rolegate=rgs_A; y\""], "rgs_A"),
    ] {
        assert_eq!(found(cookie, headers), expected, "{headers:?}");
    }
}

#[test]
fn every_session_that_other_hosts_may_have_set_is_found_once() {
    let cookie = Cookie::for_domain("example.org");
    let tossed = |number| format!("__Secure-rolegate=rgd_{number}");
    let mut list: Vec<String> = (0..250).map(tossed).collect();
    list.push("__Secure-rolegate=rgd_A; __Secure-rolegate=rgd_0; rolegate=rgs_A".to_owned());
    list.push("__Secure-rolegate=rgs_A; __Secure-rolegate; __Secure-rolegate=".to_owned());
    list.push("__Secure-rolegate=rgd_B=; __Secure-rolegate=\"rgd_C\"".to_owned());
    list.push(format!("__Secure-rolegate=rgd_{}", "A".repeat(61)));
    let mut headers = HeaderMap::new();
    for value in [&list[..100].join("; "), &list[100..].join(";")] {
        headers.append(COOKIE, value.parse().expect("valid"));
    }
    headers.append(
        COOKIE,
        HeaderValue::from_bytes(b"__Secure-rolegate=rgd_\xc3\xa4").expect("valid"),
    );
    let sessions = cookie.sessions(&headers);
    let found: Vec<_> = sessions
        .iter()
        .map(secrecy::ExposeSecret::expose_secret)
        .collect();
    let mut expected: Vec<String> = (0..250).map(|number| format!("rgd_{number}")).collect();
    expected.push("rgd_A".to_owned());
    assert_eq!(found, expected);
    assert!(Cookie::for_host(None).sessions(&headers).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    /// Compares `find` with a second parser, which cuts at each semicolon and each part at its first "=".
    #[test]
    fn whatever_is_sent_is_read_as_browsers_write_it(
        pieces in vec(select(&["__Host-rolegate", "rolegate", "=", ";", "; ", " ", "\t", "a", "rgs_A", "rgd_A", "\""][..]), 0..12),
        cut in 0_usize..12,
    ) {
        let (first, second) = pieces.split_at(cut.min(pieces.len()));
        let lines = [first.concat(), second.concat()];
        let parts = lines.iter().flat_map(|line| line.split(';'));
        let parts = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
        let mut own = parts.filter(|(name, _)| name.trim() == "__Host-rolegate");
        let expected = match (own.next(), own.next()) {
            (Some(_), Some(_)) => "TooMany",
            (Some((_, value)), None) if value.trim().starts_with("rgs_") => value.trim(),
            _ => "-",
        };
        prop_assert_eq!(found(Cookie::for_host(None), &[&lines[0], &lines[1]]), expected);
    }
}

#[test]
fn every_cookie_has_its_name_and_its_kind_of_session() {
    let of_domain = Cookie::for_domain("example.org");
    assert_eq!(found(of_domain, &["__Secure-rolegate=rgd_A"]), "rgd_A");
    assert_eq!(found(of_domain, &["__Secure-rolegate=rgs_A"]), "-");
    assert_eq!(
        found(Cookie::for_host(loopback().as_ref()), &["rolegate=rgs_A"]),
        "rgs_A"
    );
    assert_eq!(
        found(
            Cookie::for_console(None),
            &["__Host-rolegate-console=rgs_A"]
        ),
        "rgs_A"
    );
    assert_eq!(
        found(
            Cookie::for_console(loopback().as_ref()),
            &["rolegate-console=rgs_A"]
        ),
        "rgs_A"
    );
}

#[test]
fn attributes_keep_scripts_and_other_sites_away() {
    let session = SecretString::from("rgs_A");
    let line = |cookie: Cookie<'_>, session: &SecretString| {
        let value = cookie.set(session, 60).expect("a header");
        assert!(value.is_sensitive());
        value.to_str().expect("text").to_owned()
    };
    let common = "HttpOnly; Secure; SameSite=Lax";
    let host = line(Cookie::for_host(None), &session);
    assert_eq!(
        host,
        format!("__Host-rolegate=rgs_A; Path=/; Max-Age=60; {common}")
    );
    let of_domain = line(Cookie::for_domain("example.org"), &"rgd_A".into());
    let expected =
        format!("__Secure-rolegate=rgd_A; Path=/; Domain=example.org; Max-Age=60; {common}");
    assert_eq!(of_domain, expected);
    let plain = line(Cookie::for_host(loopback().as_ref()), &session);
    assert_eq!(
        plain,
        "rolegate=rgs_A; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"
    );
    let removed = Cookie::for_console(None).remove();
    assert_eq!(
        removed,
        format!("__Host-rolegate-console=; Path=/; Max-Age=0; {common}")
    );
}

#[test]
fn no_cookie_is_set_with_a_session_that_is_not_found_in_it() {
    for (cookie, session) in [
        (Cookie::for_host(None), "rgd_A"),
        (Cookie::for_console(None), "rgd_A"),
        (Cookie::for_domain("example.org"), "rgs_A"),
    ] {
        assert_eq!(cookie.set(&session.into(), 60), None, "{session}");
    }
}

#[test]
fn line_break_cannot_add_a_header() {
    assert_eq!(
        Cookie::for_host(None).set(&"rgs_A\r\nX: y".into(), 60),
        None
    );
}
