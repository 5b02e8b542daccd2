//! Fuzzes cookies and return addresses. A cookie must be found as browsers write it, and only if the request
//! has it exactly once. A browser must never be sent to an origin that is not configured, neither by a return
//! address nor by the redirect to the sign-in page.
//!
//! The input has one of three forms:
//!
//! - `c` and `Cookie` headers, one on each line.
//! - `r` and a return address.
//! - `q` and the scheme, the host and the path of a request, one on each line.

#![no_main]

use http::{HeaderMap, HeaderName, HeaderValue, header::COOKIE};
use libfuzzer_sys::fuzz_target;
use rolegate_gateway::fuzzing::return_address;
use rolegate_sign_in::{
    cookie::{Cookie, CookieError},
    origin::Origin,
    request::BrowserRequest,
    return_origins::ReturnOrigins,
    sign_in::{RedirectReason, SignIn},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::LazyLock;
use url::Url;

const OWN: [(&str, &str); 2] = [("https", "app.example.org"), ("http", "localhost:8000")];
static OTHERS: LazyLock<ReturnOrigins> = LazyLock::new(|| {
    "https://*.example.net,https://shop.example.com:8443"
        .parse()
        .expect("origins")
});

fuzz_target!(|data: &[u8]| {
    let Some((form, rest)) = data.split_first() else {
        return;
    };
    match (form, str::from_utf8(rest)) {
        (b'c', _) => cookies(rest),
        (b'q', Ok(text)) => way(text),
        (_, Ok(given)) => _ = OWN.map(|(scheme, host)| sent(given, scheme, host)),
        _ => {}
    }
});

fn cookies(lines: &[u8]) {
    let lines = lines.split(|&byte| byte == b'\n');
    let values: Vec<_> = lines
        .filter_map(|line| HeaderValue::from_bytes(line).ok())
        .collect();
    let headers: HeaderMap = values.iter().map(|value| (COOKIE, value.clone())).collect();
    let loopback = Origin::new("http", "localhost:8000");
    for (cookie, name, prefix) in [
        (Cookie::for_host(None), "__Host-rolegate", "rgs_"),
        (Cookie::for_host(loopback.as_ref()), "rolegate", "rgs_"),
        (
            Cookie::for_domain("example.org"),
            "__Secure-rolegate",
            "rgd_",
        ),
        (Cookie::for_console(None), "__Host-rolegate-console", "rgs_"),
    ] {
        let space = [' ', '\t', '\u{c}'];
        let mut own = Vec::new();
        for line in &values {
            let text: String = line
                .as_bytes()
                .iter()
                .map(|&byte| char::from(byte))
                .collect();
            for pair in text.split(';') {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                if key.trim_matches(space) == name {
                    own.push(value.trim_matches(space).to_owned());
                }
            }
        }
        let is_session = |it: &String| it.starts_with(prefix) && it.len() <= 64 && it.is_ascii();
        let expected = match &own[..] {
            [] => Ok(None),
            [value] => Ok(Some(value.clone()).filter(is_session)),
            _ => Err(CookieError::TooMany),
        };
        let found = cookie.find(&headers).map(exposed);
        if !own.iter().any(|it| !it.is_ascii()) {
            assert_eq!(found, expected, "{name}");
        }
        // Only values that `set` could have made, which are ASCII, are set again.
        if let Ok(Some(session)) = found
            && session.is_ascii()
        {
            let set = cookie.set(&session.as_str().into(), 60).expect("a header");
            let pair = set
                .to_str()
                .expect("text")
                .split(';')
                .next()
                .expect("a pair")
                .parse();
            let again = [(COOKIE, pair.expect("a header"))].into_iter().collect();
            assert_eq!(cookie.find(&again).map(exposed), Ok(Some(session)));
        }
    }
}

fn exposed(session: Option<SecretString>) -> Option<String> {
    session.map(|it| it.expose_secret().to_owned())
}

/// Returns the location to which a return address sends a browser on this origin. Checks that the location is
/// on the same origin or on one of `OTHERS`.
fn sent(given: &str, scheme: &str, host: &str) -> Option<String> {
    let own = Origin::new(scheme, host).expect("an origin");
    let location = return_address(given, &own, &OTHERS);
    let page = Url::parse(&format!("{scheme}://{host}/sign-in?return=x")).expect("a page");
    let meant = page
        .join(given)
        .ok()
        .filter(|it| it.origin() == page.origin());
    let Some(location) = location else {
        // A target on the same origin may be refused only if it could be read in another way.
        let is_plain = |it: &Url| {
            it.as_str().len() <= 2048 && !it.path().starts_with("//") && it.username().is_empty()
        };
        let is_refused =
            given.is_empty() || !meant.is_some_and(|it| is_plain(&it) && it.password().is_none());
        assert!(is_refused, "{given:?}");
        return None;
    };
    assert!(
        location.len() <= 2048 && location.bytes().all(|it| it.is_ascii_graphic()),
        "{location}"
    );
    // The origin is cut off by hand where browsers cut it: they take a backslash for a slash.
    let origin = match location.split_once("://") {
        Some((scheme, rest)) if matches!(scheme, "https" | "http") => {
            let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
            format!("{scheme}://{}", &rest[..end])
        }
        _ => {
            let second = location.as_bytes().get(1);
            assert!(
                location.starts_with('/') && !second.is_some_and(|it| b"/\\".contains(it)),
                "{location}"
            );
            format!("{scheme}://{host}")
        }
    };
    let target = page.join(&location).expect("an address");
    assert_eq!(target.origin().ascii_serialization(), origin, "{location}");
    let below = origin
        .strip_prefix("https://")
        .and_then(|it| it.strip_suffix(".example.net"));
    let is_other = below.is_some_and(|it| {
        it.bytes()
            .all(|it| it.is_ascii_alphanumeric() || b".-_".contains(&it))
    });
    let is_own = origin == format!("{scheme}://{host}");
    assert!(
        is_own || is_other || origin == "https://shop.example.com:8443",
        "{location}"
    );
    assert_eq!(
        return_address(&location, &own, &OTHERS).as_ref(),
        Some(&location),
        "again"
    );
    Some(location)
}

/// Checks that a person who is redirected to the sign-in page can return only to the origin of the request.
fn way(text: &str) {
    let mut lines = text.split('\n');
    let mut headers = HeaderMap::new();
    for name in ["x-forwarded-proto", "x-forwarded-host", "x-forwarded-uri"] {
        let value = lines
            .next()
            .and_then(|line| HeaderValue::from_str(line).ok());
        value.map(|value| headers.insert(HeaderName::from_static(name), value));
    }
    headers.insert("x-forwarded-method", HeaderValue::from_static("GET"));
    headers.insert("accept", HeaderValue::from_static("text/html"));
    for page in ["/sign-in", "https://auth.example.net/sign-in"] {
        let sign_in = SignIn::new(page.to_owned(), None, OTHERS.clone());
        let Some(way) = sign_in.redirect(
            BrowserRequest::forwarded(&headers),
            RedirectReason::NotAuthenticated,
        ) else {
            continue;
        };
        assert!(way.bytes().all(|it| it.is_ascii_graphic()), "{way}");
        let rest = way.strip_prefix(page).unwrap_or_else(|| panic!("{way}"));
        let Some(address) = rest.strip_prefix("?return=") else {
            assert!(rest.is_empty(), "{way}");
            continue;
        };
        let (_, address) = rolegate_fuzz::form::fields(format!("a={address}").as_bytes())
            .and_then(|mut it| it.pop())
            .expect("UTF-8");
        let host = headers
            .get("x-forwarded-host")
            .and_then(|it| it.to_str().ok());
        assert!(
            address.len() <= 2048 || host.is_some_and(|it| it.len() > 1000),
            "{address}"
        );
        let scheme = headers
            .get("x-forwarded-proto")
            .and_then(|it| it.to_str().ok());
        match scheme
            .zip(host)
            .and_then(|(scheme, host)| Origin::new(scheme, host))
        {
            Some(own) if !page.starts_with('/') => {
                let address = Url::parse(&address).expect("an address");
                assert_eq!(address.origin(), own.url().origin(), "{address}");
            }
            _ => assert!(address.starts_with('/'), "{address}"),
        }
        _ = OWN.map(|(scheme, host)| sent(&address, scheme, host));
    }
}
