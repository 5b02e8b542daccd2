//! Identifies the caller of a call: whether it is trusted, and the address of the end user.

use crate::{connection::Peer, unfinished_messages::MessageQuota};
use http::{Extensions, HeaderName, HeaderValue, Request};
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::metadata;
use std::net::IpAddr;
use tokio_rustls::rustls::{
    client::verify_server_name, pki_types::ServerName, server::ParsedCertificate,
};

/// Counts and logs client addresses that are ignored, because callers outside of `TRUSTED_GATEWAYS` report
/// them.
pub static IGNORED_ADDRESSES: AddressHeader = AddressHeader::new(
    metadata::CLIENT_ADDRESS,
    "TRUSTED_GATEWAYS",
    "gateway or a service of yours",
);

/// As a constant, this name is parsed once and not with each call.
const CLIENT_ADDRESS: HeaderName = HeaderName::from_static(metadata::CLIENT_ADDRESS);

#[derive(Debug)]
pub(crate) struct Caller {
    /// True if the caller is trusted, as in [`is_trusted_caller`]. Unknown peers are not trusted.
    pub(crate) is_trusted: bool,
    /// The address of the end user. It is the address that a trusted caller reports, and otherwise the address
    /// of the caller. `None` if neither is known.
    pub(crate) client_address: Option<IpAddr>,
    /// The memory quota of the call's message while it arrives; `None` for a caller in this process, where
    /// nothing is counted.
    pub(crate) message_quota: Option<MessageQuota>,
}

/// Returns whether a caller may report client address, request id and trace. Such a caller has an address in
/// a trusted network, has a verified certificate, or is in this process.
pub fn is_trusted_caller(extensions: &Extensions, trusted: &CidrSet) -> bool {
    match extensions.get() {
        Some(Peer::InProcess) => true,
        Some(Peer::Tcp {
            address,
            certificate,
            ..
        }) => certificate.is_some() || trusted.contains(*address),
        None => false,
    }
}

/// Returns the first of these DNS names that is in the verified certificate of the caller. A caller in this
/// process has a fixed name of its own. Returns `None` for any other caller.
pub fn named_caller(extensions: &Extensions, names: &[String]) -> Option<String> {
    match extensions.get()? {
        Peer::InProcess => Some("in this process".to_owned()),
        Peer::Tcp { certificate, .. } => {
            let certificate = ParsedCertificate::try_from(certificate.as_deref()?).ok()?;
            let is_in_certificate = |name: &str| match ServerName::try_from(name) {
                Ok(name) => verify_server_name(&certificate, &name).is_ok(),
                Err(_) => false,
            };
            let mut names = names.iter();
            names.find(|name| is_in_certificate(name)).cloned()
        }
    }
}

/// Parses the DNS name of a caller for [`named_caller`]. The error is a message about a setting.
pub fn certificate_name(text: &str) -> Result<String, &'static str> {
    let name = ServerName::try_from(text).map_err(|_| "must be a DNS name")?;
    Ok(name.to_str().into_owned())
}

impl Caller {
    pub(crate) fn identify<B>(request: &Request<B>, trusted: &CidrSet) -> Self {
        let extensions = request.extensions();
        let is_trusted = is_trusted_caller(extensions, trusted);
        let peer = extensions.get();
        let address = match peer {
            Some(Peer::Tcp { address, .. }) => Some(*address),
            Some(Peer::InProcess) | None => None,
        };
        let reported = request.headers().get(CLIENT_ADDRESS);
        let client_address = match reported {
            Some(reported) if is_trusted => parse_address(reported).or(address),
            Some(_) => {
                IGNORED_ADDRESSES.ignore(address);
                address
            }
            None => address,
        };
        Self {
            is_trusted,
            client_address,
            message_quota: peer.and_then(Peer::message_quota),
        }
    }
}

fn parse_address(value: &HeaderValue) -> Option<IpAddr> {
    value.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
