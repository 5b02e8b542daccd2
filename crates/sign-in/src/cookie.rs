//! The cookies that hold a session.
//!
//! The prefixes of their names (RFC 6265bis, section 4.1.3) keep other hosts, and pages without encryption,
//! from setting them. No script reads them.

use http::{HeaderMap, HeaderValue, header};
use rolegate_proto::limits::{DOMAIN_SESSION_PREFIX, SESSION_PREFIX};
use secrecy::{ExposeSecret as _, SecretString};

/// Bytes of a cookie that may hold a session; one has 47.
const MAX_LEN: usize = 64;

/// A cookie by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'a> {
    name: &'static str,
    /// The domain whose hosts all receive it; `None` for the host that sets it.
    domain: Option<&'a str>,
}

/// The number of different sessions in the cookies of one request of which the good one is looked for.
pub const MAX_SESSIONS: usize = 8;

/// Why a cookie is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieError {
    /// It is there more often than is looked at, so it is not known who set which.
    TooMany,
    /// It came with a change that another site may have caused.
    CrossSite,
}

impl<'a> Cookie<'a> {
    /// That of applications on the host that sets it. `is_plain`: over plain HTTP, on loopback.
    pub const fn of_host(is_plain: bool) -> Self {
        Self {
            name: if is_plain {
                "rolegate"
            } else {
                "__Host-rolegate"
            },
            domain: None,
        }
    }

    /// That of applications on all hosts of a domain.
    pub const fn of_domain(domain: &'a str) -> Self {
        Self {
            name: "__Secure-rolegate",
            domain: Some(domain),
        }
    }

    /// That of the console. `is_plain`: over plain HTTP, on loopback.
    pub const fn of_console(is_plain: bool) -> Self {
        let name = if is_plain {
            "rolegate-console"
        } else {
            "__Host-rolegate-console"
        };
        Self { name, domain: None }
    }

    /// Whether its session is for a domain, and thus no bearer token.
    pub const fn is_for_domain(&self) -> bool {
        self.domain.is_some()
    }

    /// What may be a session, good or not, from all `Cookie` headers: HTTP/2 allows several.
    pub fn find(&self, headers: &HeaderMap) -> Result<Option<SecretString>, CookieError> {
        let mut found = self.find_all(headers);
        let session = found.next();
        if found.next().is_some() {
            Err(CookieError::TooMany)
        } else {
            Ok(session.flatten())
        }
    }

    /// Everything in the cookies of this name that has the form of a session, once each: other hosts of a domain may
    /// have set some of them.
    pub fn sessions(&self, headers: &HeaderMap) -> Vec<SecretString> {
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let mut sessions = self.find_different(headers);
        sessions.retain(|session| session.expose_secret().bytes().all(is_base64url));
        sessions
    }

    /// What may be a session, good or not, in the cookies of this name, once each.
    pub(crate) fn find_different(&self, headers: &HeaderMap) -> Vec<SecretString> {
        let mut sessions: Vec<SecretString> = Vec::new();
        for session in self.find_all(headers).flatten() {
            let text = session.expose_secret();
            if sessions.iter().all(|known| known.expose_secret() != text) {
                sessions.push(session);
            }
        }
        sessions
    }

    /// Every cookie of this name, with what may be a session.
    fn find_all(&self, headers: &HeaderMap) -> impl Iterator<Item = Option<SecretString>> {
        let cookies = headers
            .get_all(header::COOKIE)
            .iter()
            .flat_map(|it| it.as_bytes().split(|&it| it == b';'));
        let values = cookies.filter_map(|cookie| {
            let rest = cookie
                .trim_ascii_start()
                .strip_prefix(self.name.as_bytes())?;
            match rest.trim_ascii_start() {
                // Without "=" it is a cookie all the same.
                [] => Some(&[][..]),
                [b'=', value @ ..] => Some(value.trim_ascii()),
                _ => None,
            }
        });
        let prefix = self.session_prefix();
        let is_session = move |value: &&str| value.len() <= MAX_LEN && value.starts_with(prefix);
        values.map(move |it| str::from_utf8(it).ok().filter(is_session).map(Into::into))
    }

    /// What its sessions begin with.
    const fn session_prefix(&self) -> &'static str {
        if self.is_for_domain() {
            DOMAIN_SESSION_PREFIX
        } else {
            SESSION_PREFIX
        }
    }

    /// `Set-Cookie` with this session, for so many seconds; `None` for a session that would not be found in it. The
    /// session must have no character but those of base64url.
    pub fn set(&self, session: &SecretString, seconds: u64) -> Option<HeaderValue> {
        if !session.expose_secret().starts_with(self.session_prefix()) {
            return None;
        }
        let mut value = HeaderValue::from_str(&self.line(session.expose_secret(), seconds)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// `Set-Cookie` that removes it.
    pub fn remove(&self) -> String {
        self.line("", 0)
    }

    fn line(&self, value: &str, seconds: u64) -> String {
        let domain = self
            .domain
            .map(|domain| format!("; Domain={domain}"))
            .unwrap_or_default();
        let secure = if self.name.starts_with("__") {
            "; Secure"
        } else {
            ""
        };
        let name = self.name;
        format!("{name}={value}; Path=/{domain}; Max-Age={seconds}; HttpOnly{secure}; SameSite=Lax")
    }
}

#[cfg(test)]
mod tests {
    use super::Cookie;
    use http::{HeaderMap, HeaderValue, header::COOKIE};
    use proptest::{collection::vec, prelude::*, sample::select};
    use secrecy::{ExposeSecret as _, SecretString};

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
        let cookie = Cookie::of_host(false);
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
        let cookie = Cookie::of_domain("example.org");
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
        assert!(Cookie::of_host(false).sessions(&headers).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        /// Read again in another way: cut at each semicolon, each part at its first "=".
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
            prop_assert_eq!(found(Cookie::of_host(false), &[&lines[0], &lines[1]]), expected);
        }
    }

    #[test]
    fn every_cookie_has_its_name_and_its_kind_of_session() {
        let of_domain = Cookie::of_domain("example.org");
        assert_eq!(found(of_domain, &["__Secure-rolegate=rgd_A"]), "rgd_A");
        assert_eq!(found(of_domain, &["__Secure-rolegate=rgs_A"]), "-");
        assert_eq!(found(Cookie::of_host(true), &["rolegate=rgs_A"]), "rgs_A");
        assert_eq!(
            found(
                Cookie::of_console(false),
                &["__Host-rolegate-console=rgs_A"]
            ),
            "rgs_A"
        );
        assert_eq!(
            found(Cookie::of_console(true), &["rolegate-console=rgs_A"]),
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
        let host = line(Cookie::of_host(false), &session);
        assert_eq!(
            host,
            format!("__Host-rolegate=rgs_A; Path=/; Max-Age=60; {common}")
        );
        let of_domain = line(Cookie::of_domain("example.org"), &"rgd_A".into());
        let expected =
            format!("__Secure-rolegate=rgd_A; Path=/; Domain=example.org; Max-Age=60; {common}");
        assert_eq!(of_domain, expected);
        let plain = line(Cookie::of_host(true), &session);
        assert_eq!(
            plain,
            "rolegate=rgs_A; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"
        );
        let removed = Cookie::of_console(false).remove();
        assert_eq!(
            removed,
            format!("__Host-rolegate-console=; Path=/; Max-Age=0; {common}")
        );
    }

    #[test]
    fn no_cookie_is_set_with_a_session_that_is_not_found_in_it() {
        for (cookie, session) in [
            (Cookie::of_host(false), "rgd_A"),
            (Cookie::of_console(false), "rgd_A"),
            (Cookie::of_domain("example.org"), "rgs_A"),
        ] {
            assert_eq!(cookie.set(&session.into(), 60), None, "{session}");
        }
    }

    #[test]
    fn line_break_cannot_add_a_header() {
        assert_eq!(
            Cookie::of_host(false).set(&"rgs_A\r\nX: y".into(), 60),
            None
        );
    }
}
