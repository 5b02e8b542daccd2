//! Reads the settings of signing in from flags and environment variables.

mod warnings;

use crate::{
    brand::Brand,
    domain::{is_domain_name, is_in_domain, is_public_suffix},
    origin::is_secure,
    return_origins::ReturnOrigins,
    sign_in::SignIn,
};
use clap::{ArgAction, Args};
use rolegate_program::settings::{SettingError, switch};
use url::Url;

/// The path of the sign-in page, and the default of `SIGN_IN_URL`.
pub(crate) const PAGE: &str = "/sign-in";

/// The settings of signing in at a page.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Browsers")]
pub struct SignInSettings {
    /// Let people sign in at a page: navigations are redirected there, and its cookie is accepted
    #[arg(long, env, default_value = "on", action = ArgAction::Set, value_parser = switch())]
    pub sign_in: bool,

    /// Page where people sign in to applications: a path on each application's own host, or a URL
    #[arg(long, env, default_value = PAGE, value_parser = parse_sign_in_url)]
    pub sign_in_url: String,

    /// Domain whose hosts share one sign-in, such as example.org; browsers send the cookie to all of them
    #[arg(long, env, value_parser = parse_cookie_domain)]
    pub cookie_domain: Option<String>,

    /// Origins of applications that people may come from and go back to, separated by commas, such as
    /// https://*.example.org
    #[arg(long, env, default_value = "", hide_default_value = true)]
    pub return_origins: ReturnOrigins,

    /// The operator's title and help text on the pages.
    #[command(flatten)]
    pub brand: Brand,
}

impl SignInSettings {
    /// Returns the rules for signing in, or `None` with `SIGN_IN=off`. In both cases, fails if `COOKIE_DOMAIN` is set
    /// and `SIGN_IN_URL` is no https URL on a host of that domain, because browsers would refuse the cookie.
    pub fn read(&self) -> Result<Option<SignIn>, SettingError> {
        let page = Url::parse(&self.sign_in_url).ok();
        let https_host = match &page {
            Some(page) if page.scheme() == "https" => page.domain(),
            _ => None,
        };
        if let Some(domain) = &self.cookie_domain
            && !https_host.is_some_and(|host| is_in_domain(host, domain))
        {
            let problem = "must be an https URL on a host of COOKIE_DOMAIN";
            return Err(SettingError::new("SIGN_IN_URL", problem));
        }
        if !self.sign_in {
            return Ok(None);
        }
        let mut sign_in = SignIn::new(
            self.sign_in_url.clone(),
            self.cookie_domain.clone(),
            self.return_origins.clone(),
        );
        sign_in.brand = self.brand.clone();
        Ok(Some(sign_in))
    }
}

fn parse_sign_in_url(text: &str) -> Result<String, &'static str> {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"?#\\\"<>".contains(&byte);
    let is_path = text.starts_with('/') && !text.starts_with("//");
    if text.bytes().all(is_allowed) && (is_path || is_page_url(text)) {
        return Ok(text.to_owned());
    }
    Err(
        "must be a path, such as /sign-in, or an https URL (http for loopback only), without query and \
         fragment",
    )
}

/// Tells whether the text is a URL without credentials to which a password can be sent safely.
fn is_page_url(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    is_secure(&url) && !url.authority().contains('@') && url.port() != Some(0)
}

fn parse_cookie_domain(text: &str) -> Result<String, &'static str> {
    if !is_domain_name(text) {
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
mod tests;
