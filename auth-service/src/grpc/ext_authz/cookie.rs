//! Browsers: the session in a cookie, and the way to the page to sign in at.

use super::{
    request::{self, values},
    response::Refusal,
};
use crate::{
    accounts::{AccountError, AuthenticatedUser, Requirement, TokenSource},
    grpc::{AuthGrpc, authorize::count_bearer},
    user::User,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use rolegate_proto::{
    Reason,
    envoy_auth_v3::{AttributeContext, attribute_context::HttpRequest},
    metadata::AUTHORIZATION,
};
use rolegate_sign_in::{
    cookie::CookieError,
    headers::parse_scheme,
    interstitial::Interstitial,
    request::{BROWSER_HEADERS, BrowserRequest},
    sign_in::RedirectReason,
};
use secrecy::ExposeSecret as _;
use tonic::Code;

impl AuthGrpc {
    /// Whether the browser of a person says that it asks for a page, and there is one to sign in at.
    pub(super) fn is_by_person(&self, attributes: &AttributeContext) -> bool {
        self.sign_in.is_some()
            && Browser::read(attributes)
                .is_some_and(|browser| browser.request().is_declared_navigation())
    }

    /// The user of the only valid session in the cookies, whatever else the request has.
    pub(super) async fn user_in_cookie(
        &self,
        attributes: &AttributeContext,
        requirement: &Result<Requirement, AccountError>,
    ) -> Result<AuthenticatedUser, Refusal> {
        let Some(sign_in) = &self.sign_in else {
            return Err(Refusal::NotAuthenticated);
        };
        let browser = Browser::read(attributes).ok_or(Refusal::NotAuthenticated)?;
        let mut has_two_sessions = false;
        let sessions = match sign_in.session_candidates(browser.request()) {
            Ok(sessions) => sessions,
            Err(CookieError::TooMany) => {
                has_two_sessions = true;
                Vec::new()
            }
            Err(CookieError::CrossSite) => return Err(Refusal::CrossSite),
        };
        let any = Requirement::AnyAuthenticated;
        let mut refusal = Refusal::NotAuthenticated;
        let mut authenticated = None;
        for session in &sessions {
            let session = session.expose_secret();
            let bearer = self
                .accounts
                .authorize_from(TokenSource::Cookie, session, &any)
                .await;
            match count_bearer(bearer, requirement) {
                Ok(user) => has_two_sessions |= authenticated.replace(user).is_some(),
                Err(error) if error.reason().code() == Code::Unauthenticated => {
                    refusal = error.into();
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut reason = RedirectReason::NotAuthenticated;
        if has_two_sessions {
            // Another host may have set either, so neither counts.
            refusal = Refusal::NotAuthenticated;
            reason = RedirectReason::TwoSessions;
        } else if let Some(user) = authenticated {
            return Ok(user);
        }
        let page = sign_in.redirect(browser.request(), reason);
        Err(page.map_or(refusal, Refusal::SignIn))
    }

    /// What a person sees whose cookie does not suffice; `None` for everybody else.
    pub(super) fn interstitial(
        &self,
        attributes: &AttributeContext,
        user: &User,
        reason: Reason,
    ) -> Option<Interstitial> {
        let sign_in = self.sign_in.as_ref()?;
        let browser = Browser::read(attributes)?;
        if !browser.request().can_be_redirected() || has_authorization(attributes) {
            return None;
        }
        Some(sign_in.refused(browser.request(), Some(&user.username), reason))
    }

    /// Whether a refusal may ask for a password by HTTP Basic, for which a browser opens a dialog.
    pub(super) fn allows_basic_challenge(&self, attributes: &AttributeContext) -> bool {
        if request::is_cookie_only(&attributes.context_extensions).unwrap_or(false) {
            return false;
        }
        let Some(sign_in) = &self.sign_in else {
            return true;
        };
        let has_authorization = has_authorization(attributes);
        Browser::read(attributes).is_none_or(|browser| {
            sign_in.allows_basic_challenge(browser.request(), has_authorization)
        })
    }
}

/// Whether there is an `Authorization`, also a malformed one.
pub(super) fn has_authorization(attributes: &AttributeContext) -> bool {
    request::http(attributes).is_some_and(|http| values(http, AUTHORIZATION).next().is_some())
}

/// Whether another site caused what may be a change, by which a browser sends the password that it remembers.
pub(super) fn is_cross_site_change(attributes: &AttributeContext) -> bool {
    Browser::read(attributes).is_some_and(|browser| browser.request().is_cross_site_change())
}

/// A request with the headers that say what a browser does.
struct Browser<'a> {
    http: &'a HttpRequest,
    headers: HeaderMap,
}

impl<'a> Browser<'a> {
    fn read(attributes: &'a AttributeContext) -> Option<Self> {
        let http = request::http(attributes)?;
        let headers = browser_headers(http);
        Some(Self { http, headers })
    }

    fn request(&self) -> BrowserRequest<'_> {
        BrowserRequest {
            method: Some(&self.http.method),
            scheme: parse_scheme(&self.http.scheme),
            host: Some(&self.http.host),
            path: Some(&self.http.path),
            headers: &self.headers,
        }
    }
}

/// The headers that say what a browser does.
pub(crate) fn browser_headers(http: &HttpRequest) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in BROWSER_HEADERS {
        for value in values(http, name) {
            // What cannot be read is there all the same.
            let value = HeaderValue::from_bytes(value.unwrap_or_default());
            headers.append(
                HeaderName::from_static(name),
                value.unwrap_or(HeaderValue::from_static("")),
            );
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::{HttpRequest, browser_headers};
    use rolegate_proto::envoy_auth_v3::{HeaderMap, HeaderValue};

    fn read(joined: &[(&str, &str)], raw: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
        let headers = joined
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let raw = raw.iter().map(|&(key, raw_value)| HeaderValue {
            key: key.to_owned(),
            raw_value: raw_value.to_owned(),
            ..HeaderValue::default()
        });
        let http = HttpRequest {
            headers: headers.collect(),
            header_map: Some(HeaderMap {
                headers: raw.collect(),
            }),
            ..HttpRequest::default()
        };
        let read = browser_headers(&http);
        let pair = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            (name.to_string(), value.as_bytes().to_vec())
        };
        read.iter().map(pair).collect()
    }

    #[test]
    fn headers_of_browsers_are_read_from_either_form_and_no_others() {
        let joined = [("cookie", "a=b; c=d"), ("x-forwarded-host", "evil.example")];
        assert_eq!(
            read(&joined, &[]),
            [("cookie".to_owned(), b"a=b; c=d".to_vec())]
        );
        let raw = [
            ("Cookie", &b"a=b"[..]),
            ("cookie", b"c=\xff"),
            ("authorization", b"Bearer a"),
        ];
        let expected = [b"a=b".to_vec(), b"c=\xff".to_vec()].map(|it| ("cookie".to_owned(), it));
        assert_eq!(read(&[], &raw), expected);
        // In both forms it is there twice.
        assert_eq!(read(&[("origin", "null")], &[("origin", b"null")]).len(), 2);
    }

    #[test]
    fn a_value_that_cannot_be_read_is_not_overlooked() {
        let names = ["upgrade", "sec-fetch-mode", "sec-websocket-key"];
        for (name, value) in names
            .into_iter()
            .flat_map(|name| [(name, &b"a\0"[..]), (name, b"")])
        {
            assert_eq!(read(&[], &[(name, value)]), [(name.to_owned(), Vec::new())]);
        }
    }
}
