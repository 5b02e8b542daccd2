//! Whose word is believed, and the end user's address.

use auth_proto::metadata::CLIENT_ADDRESS;
use service_runtime::networks::Networks;
use std::net::IpAddr;
use tonic::{Request, metadata::MetadataMap};

/// Whether the caller's word about those it calls for counts: it has one of these addresses, a
/// certificate that was verified in the handshake, or is in this process and has no address.
#[must_use]
pub fn is_trusted<M>(request: &Request<M>, trusted: &Networks) -> bool {
    request.peer_certs().is_some_and(|certificates| !certificates.is_empty())
        || request.remote_addr().is_none_or(|caller| trusted.contain(caller.ip()))
}

/// The end user's address: the caller's word if the caller is trusted, else the caller's own address.
#[must_use]
pub fn client_address<M>(request: &Request<M>, trusted: &Networks) -> Option<IpAddr> {
    let word = told(request.metadata()).filter(|_| is_trusted(request, trusted));
    word.or(request.remote_addr().map(|address| address.ip()))
}

fn told(metadata: &MetadataMap) -> Option<IpAddr> {
    metadata.get(CLIENT_ADDRESS)?.to_str().ok()?.parse().ok()
}
