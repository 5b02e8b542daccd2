//! Settings from flags and environment variables.

use crate::{
    cookie::Cookie,
    design::Brand,
    origin::{Origin, ReturnOrigin, ReturnOrigins, is_public_suffix, is_safe},
};
use clap::{ArgAction, Args};
use rolegate_program::settings::{SettingError, switch};
use std::net::IpAddr;
use url::Url;

/// The longest label of a domain name (RFC 1035, section 2.3.4).
const MAX_LABEL: usize = 63;

/// The path of the page to sign in at, and the default of `SIGN_IN_URL`.
const PAGE: &str = "/sign-in";

/// Where and how people sign in
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Browsers")]
pub struct SignInSettings {
    /// Whether people can sign in at a page, and requests of browsers are led there and use its cookie
    #[arg(long, env = "SIGN_IN", default_value = "on", action = ArgAction::Set, value_parser = switch())]
    pub sign_in: bool,

    /// Where people sign in to applications: a path of the application's own host, or a URL
    #[arg(long, env = "SIGN_IN_URL", default_value = PAGE, value_parser = sign_in_url)]
    pub sign_in_url: String,

    /// Domain whose hosts share one sign-in, such as example.org; all of them receive the cookie
    #[arg(long, env = "COOKIE_DOMAIN", value_parser = cookie_domain)]
    pub cookie_domain: Option<String>,

    /// Origins of applications that people may come from and go back to, separated by commas, such as https://*.example.org
    #[arg(
        long,
        env = "RETURN_ORIGINS",
        default_value = "",
        hide_default_value = true
    )]
    pub return_origins: ReturnOrigins,

    /// What the pages show.
    #[command(flatten)]
    pub brand: Brand,
}

impl SignInSettings {
    /// How people sign in; `None` if they cannot.
    pub fn read(&self) -> Result<Option<SignIn>, SettingError> {
        let Self {
            sign_in,
            sign_in_url,
            cookie_domain,
            return_origins,
            brand,
        } = self.clone();
        let read = SignIn::new(sign_in_url, cookie_domain, return_origins);
        let page = read.page.as_ref().filter(|page| page.scheme() == "https");
        let host = page.and_then(Url::domain).unwrap_or_default();
        if read
            .cookie_domain
            .as_ref()
            .is_some_and(|domain| !is_on(host, domain))
        {
            let problem = "must be an https URL on a host of COOKIE_DOMAIN";
            return Err(SettingError::new("SIGN_IN_URL", problem));
        }
        Ok(sign_in.then_some(SignIn { brand, ..read }))
    }

    /// What to say of settings that lead people to a page that is missing, in a circle, or not back. Somebody may
    /// want each of them, because other programs can serve what is missing.
    pub fn warnings(&self) -> Vec<String> {
        let page = Url::parse(&self.sign_in_url).ok();
        if !self.sign_in {
            let leads_nowhere = page.map(|page| {
                format!(
                    "SIGN_IN_URL: password links lead to {}, but SIGN_IN=off removes that page",
                    page.origin().ascii_serialization()
                )
            });
            return leads_nowhere.into_iter().collect();
        }
        let mut warnings = Vec::new();
        let path = page.as_ref().map_or(&*self.sign_in_url, Url::path);
        if path != PAGE {
            warnings.push(format!(
                "SIGN_IN_URL: the page is at {PAGE}, so people are led to a page that is missing unless a proxy \
                 passes {path} there"
            ));
        }
        let host = page.as_ref().and_then(Url::host_str);
        let has_cookie = |it: &ReturnOrigin<'_>| match (&self.cookie_domain, host) {
            (Some(domain), _) => is_on(it.host, domain) || (it.is_parent && is_on(domain, it.host)),
            (None, Some(host)) => it.host == host && !it.is_parent,
            (None, None) => true,
        };
        for other in self.return_origins.iter().filter(|it| !has_cookie(it)) {
            warnings.push(format!(
                "RETURN_ORIGINS: people of an application at {}{} sign in at SIGN_IN_URL again and again, because \
                 its cookie does not reach that host; set COOKIE_DOMAIN to a domain of both, or let people sign in at \
                 {PAGE} of that host",
                if other.is_parent { "*." } else { "" },
                other.host
            ));
        }
        let is_page = |it: &ReturnOrigin<'_>| Some(it.host) == host && !it.is_parent;
        if let Some(domain) = &self.cookie_domain
            && !self
                .return_origins
                .iter()
                .any(|it| has_cookie(&it) && !is_page(&it))
        {
            let port = page.as_ref().and_then(Url::port);
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            warnings.push(format!(
                "RETURN_ORIGINS: has no host of COOKIE_DOMAIN, so people who sign in are not led back to \
                 applications there; name them, such as https://*.{domain}{port}"
            ));
        }
        warnings
    }
}

/// Whether the host is the domain, or below it.
fn is_on(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|it| it.is_empty() || it.ends_with('.'))
}

/// How people sign in.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The page: a path of the application's own host, or a URL.
    pub(crate) url: String,
    /// The same if it is a URL.
    pub page: Option<Url>,
    /// The domain whose hosts share the cookie.
    pub cookie_domain: Option<String>,
    /// Other origins that people go back to.
    pub return_origins: ReturnOrigins,
    /// What the pages show.
    pub brand: Brand,
}

impl SignIn {
    /// Reads the values of `SIGN_IN_URL`, `COOKIE_DOMAIN` and `RETURN_ORIGINS`. The brand is the default one.
    pub fn new(url: String, cookie_domain: Option<String>, return_origins: ReturnOrigins) -> Self {
        Self {
            page: Url::parse(&url).ok(),
            url,
            cookie_domain,
            return_origins,
            brand: Brand::default(),
        }
    }

    /// The cookie of an application with this origin.
    pub fn cookie(&self, origin: Option<&Origin>) -> Cookie<'_> {
        match &self.cookie_domain {
            _ if origin.is_some_and(Origin::is_plain_loopback) => Cookie::of_host(true),
            Some(domain) => Cookie::of_domain(domain),
            None => Cookie::of_host(false),
        }
    }
}

fn sign_in_url(text: &str) -> Result<String, &'static str> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\\\"<>".contains(&byte);
    let is_path = text.starts_with('/') && !text.starts_with("//");
    let is_url = || {
        Url::parse(text)
            .is_ok_and(|it| is_safe(&it) && !it.authority().contains('@') && it.port() != Some(0))
    };
    if text.bytes().all(is_plain) && (is_path || is_url()) {
        return Ok(text.to_owned());
    }
    Err(
        "must be a path, such as /sign-in, or an https URL (http for loopback only), without query and \
         fragment",
    )
}

fn cookie_domain(text: &str) -> Result<String, &'static str> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        let has_hyphen_at_end = label.starts_with('-') || label.ends_with('-');
        (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(is_letter) && !has_hyphen_at_end
    };
    let is_domain = text.contains('.') && text.len() <= 253 && text.split('.').all(is_label);
    let is_name = is_domain && text.parse::<IpAddr>().is_err();
    if !is_name {
        return Err(
            "must be a domain in lower case, such as example.org: without a dot in front, and no top-level domain",
        );
    }
    if is_public_suffix(text) {
        return Err(
            "is a public suffix, below which anybody can have a host, so browsers refuse the cookie; use a domain of your \
             own below it, such as example.org",
        );
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::SignInSettings;
    use clap::{Args as _, Command, FromArgMatches as _};

    fn read(args: &[&str]) -> Result<SignInSettings, String> {
        let command = SignInSettings::augment_args(Command::new("test").no_binary_name(true));
        let matches = command
            .try_get_matches_from(args)
            .map_err(|error| error.to_string())?;
        let settings =
            SignInSettings::from_arg_matches(&matches).map_err(|error| error.to_string())?;
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
        let nowhere =
            "SIGN_IN_URL: password links lead to https://auth.example.org, but SIGN_IN=off";
        let missing = "SIGN_IN_URL: the page is at /sign-in";
        let circle = "RETURN_ORIGINS: people of an application at ";
        let not_back = "RETURN_ORIGINS: has no host of COOKIE_DOMAIN";
        for (off, url, domain, origins, expected) in [
            // Each by itself.
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
            // Pairs.
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
            // A cookie has no port.
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
            // All.
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
}
