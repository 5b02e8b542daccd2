//! What both sides speak.

use std::sync::Arc;
use tokio_rustls::rustls::{
    SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    version::TLS13,
};

/// Peers are ours, generated gRPC clients or current proxies; none needs an older version.
pub(crate) const VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];
/// The ALPN id of HTTP/1.1 (RFC 7301).
pub const HTTP_1: &[u8] = b"http/1.1";
/// The ALPN id of HTTP/2 (RFC 9113, section 3.2).
pub const HTTP_2: &[u8] = b"h2";

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
