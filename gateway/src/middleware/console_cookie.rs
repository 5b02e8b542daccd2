//! Lets scripts of the console and of the account page use the session in the console's cookie without seeing it.

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use rolegate_sign_in::{
    cookie::Cookie,
    origin::Origin,
    request::{asks_for_document, is_declared_same_origin},
};
use secrecy::ExposeSecret as _;

/// Says whether a router accepts the session in the console's cookie as a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsoleCookie {
    Accepted,
    Ignored,
}

/// Puts the session in the console's cookie into `Authorization`, if a script of the same origin made the request. The
/// caller makes sure that the script sent no credentials itself.
pub(super) fn use_as_token(headers: &mut HeaderMap) {
    let is_by_script = is_declared_same_origin(headers) && !asks_for_document(headers);
    if !is_by_script {
        return;
    }
    let own = Origin::from_request_headers(headers);
    let Ok(Some(session)) = Cookie::for_console(own.as_ref()).find(headers) else {
        return;
    };
    let token = format!("Bearer {}", session.expose_secret());
    if let Ok(mut value) = HeaderValue::from_str(&token) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}
