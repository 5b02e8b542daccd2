//! The page in the place of a form, where anybody on the way could read the password, or may have done so.

use super::page::page;
use axum::response::Response;
use http::HeaderMap;
use rolegate_sign_in::{
    design::Design,
    headers::{forwarded_scheme, has_passed_proxy},
    html::escape,
    origin::Origin,
};

/// The first port at which everybody may listen, and the one that is used instead of those below.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;
const LOCAL_PORT: u16 = 8000;

pub(super) fn https_needed(design: Design<'_>, headers: &HeaderMap) -> Response {
    let problem = if forwarded_scheme(headers).is_ok() {
        "{https.needed}"
    } else {
        "{https.proxies_disagree}"
    };
    let problem = design.render(problem, &[]);
    let tunnel = ssh_tunnel(design, headers).unwrap_or_default();
    page(design, "{sign_in.title}", &problem, &tunnel)
}

/// How to come by this machine's own address, at which no encryption is needed. Behind a proxy it would lead past
/// that.
fn ssh_tunnel(design: Design<'_>, headers: &HeaderMap) -> Option<String> {
    if has_passed_proxy(headers) {
        return None;
    }
    let own = Origin::from_request_headers(headers)?;
    let host = own.url().host_str()?.trim_matches(['[', ']']);
    // A name that begins with "-" would be an option of ssh.
    if host.starts_with('-') {
        return None;
    }
    let port = own.url().port_or_known_default()?;
    let local_port = if port < FIRST_UNPRIVILEGED_PORT {
        LOCAL_PORT
    } else {
        port
    };
    let values = [
        ("near", &*local_port.to_string()),
        ("port", &port.to_string()),
        ("host", &escape(host)),
    ];
    Some(design.render(include_str!("https_needed.html"), &values))
}
