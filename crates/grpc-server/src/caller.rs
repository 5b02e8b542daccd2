//! The caller of a call: whether it is trusted, and the address of the end user.

use crate::{connection::Peer, unfinished::Unfinished};
use http::{Extensions, HeaderName, Request};
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::metadata;
use std::net::IpAddr;

/// Client addresses that callers outside of `TRUSTED_GATEWAYS` report.
pub static IGNORED: AddressHeader = AddressHeader::new(
    metadata::CLIENT_ADDRESS,
    "TRUSTED_GATEWAYS",
    "gateway or a service of yours",
);

/// Parsed once, not with each call.
const CLIENT_ADDRESS: HeaderName = HeaderName::from_static(metadata::CLIENT_ADDRESS);

#[derive(Debug)]
pub(crate) struct Caller {
    /// See [`is_trusted_caller`]. Unknown peers are untrusted.
    pub(crate) is_trusted: bool,
    /// The address of the end user: the one that a trusted caller reports, else that of the caller.
    pub(crate) client_address: Option<IpAddr>,
    /// Of its connection, and its address without a verified certificate; `None` in this process.
    pub(crate) unfinished: Option<(Unfinished, Option<IpAddr>)>,
}

/// Whether the caller of the call with these extensions may report client address, request id and
/// trace: it has an address in a trusted network, a verified certificate, or is in this process.
pub fn is_trusted_caller(extensions: &Extensions, trusted: &CidrSet) -> bool {
    match extensions.get() {
        Some(Peer::InProcess) => true,
        Some(Peer::Tcp { address, has_verified_certificate, .. }) => {
            *has_verified_certificate || trusted.contains(*address)
        }
        None => false,
    }
}

impl Caller {
    pub(crate) fn of<B>(request: &Request<B>, trusted: &CidrSet) -> Self {
        let extensions = request.extensions();
        let is_trusted = is_trusted_caller(extensions, trusted);
        let (address, unfinished) = match extensions.get() {
            Some(Peer::Tcp { address, has_verified_certificate, unfinished }) => {
                let shares_by_address = (!has_verified_certificate).then_some(*address);
                (Some(*address), Some((unfinished.clone(), shares_by_address)))
            }
            Some(Peer::InProcess) | None => (None, None),
        };
        let reported = request.headers().get(CLIENT_ADDRESS);
        if !is_trusted && reported.is_some() {
            IGNORED.ignore(address);
        }
        let reported = reported.filter(|_| is_trusted);
        let reported = reported.and_then(|value| value.to_str().ok()?.parse().ok());
        Self { is_trusted, client_address: reported.or(address), unfinished }
    }
}

#[cfg(test)]
mod tests;
