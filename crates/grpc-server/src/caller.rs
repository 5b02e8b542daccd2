//! The caller of a call: whether it is trusted, and the address of the end user.

use crate::{connection::Peer, unfinished::Unfinished};
use http::{Extensions, HeaderName, Request};
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::metadata;
use std::net::IpAddr;
use tokio_rustls::rustls::{
    client::verify_server_name, pki_types::ServerName, server::ParsedCertificate,
};

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
        Some(Peer::Tcp {
            address,
            certificate,
            ..
        }) => certificate.is_some() || trusted.contains(*address),
        None => false,
    }
}

/// The one of these DNS names that is in the verified certificate of the caller. A caller in this process
/// has a name of its own.
pub fn named_caller(extensions: &Extensions, names: &[String]) -> Option<String> {
    match extensions.get()? {
        Peer::InProcess => Some("in this process".to_owned()),
        Peer::Tcp { certificate, .. } => {
            let certificate = ParsedCertificate::try_from(certificate.as_deref()?).ok()?;
            let has = |name: &&String| {
                let name = ServerName::try_from(name.as_str());
                name.is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
            };
            names.iter().find(has).cloned()
        }
    }
}

/// A name for [`named_caller`].
pub fn certificate_name(text: &str) -> Result<String, &'static str> {
    let name = ServerName::try_from(text).map_err(|_| "must be a DNS name")?;
    Ok(name.to_str().into_owned())
}

impl Caller {
    pub(crate) fn of<B>(request: &Request<B>, trusted: &CidrSet) -> Self {
        let extensions = request.extensions();
        let is_trusted = is_trusted_caller(extensions, trusted);
        let (address, unfinished) = match extensions.get() {
            Some(Peer::Tcp {
                address,
                certificate,
                unfinished,
            }) => {
                let shares_by_address = certificate.is_none().then_some(*address);
                (
                    Some(*address),
                    Some((unfinished.clone(), shares_by_address)),
                )
            }
            Some(Peer::InProcess) | None => (None, None),
        };
        let reported = request.headers().get(CLIENT_ADDRESS);
        if !is_trusted && reported.is_some() {
            IGNORED.ignore(address);
        }
        let reported = reported.filter(|_| is_trusted);
        let reported = reported.and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            is_trusted,
            client_address: reported.or(address),
            unfinished,
        }
    }
}

#[cfg(test)]
mod tests;
