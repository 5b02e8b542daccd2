//! The cookie by which the page to sign in at says that somebody has signed out, wherever the browser is led in
//! between.

use http::{HeaderMap, header::COOKIE};
use rolegate_sign_in::origin::Origin;

const SIGNED_OUT: &str = "rolegate-signed-out=1";
const MAX_AGE_SECONDS: u8 = 60;

/// `Set-Cookie` after a sign-out.
pub(super) fn set(own: &Origin) -> String {
    set_cookie(own, MAX_AGE_SECONDS)
}

/// `Set-Cookie` once the page has said it.
pub(super) fn remove(own: &Origin) -> String {
    set_cookie(own, 0)
}

pub(super) fn is_set(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(COOKIE).iter();
    let mut cookies = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    cookies.any(|cookie| cookie.trim_ascii() == SIGNED_OUT.as_bytes())
}

fn set_cookie(own: &Origin, max_age: u8) -> String {
    let secure = if own.is_plain_loopback() {
        ""
    } else {
        "; Secure"
    };
    format!("{SIGNED_OUT}; Path=/sign-in; Max-Age={max_age}; HttpOnly{secure}; SameSite=Lax")
}
