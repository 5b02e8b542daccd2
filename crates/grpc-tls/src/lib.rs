//! TLS of gRPC from PEM files: TLS 1.3 and HTTP/2 only, with rustls and ring.
//!
//! - [`ServerTls`]: the server side; with a client CA it requires client certificates.
//! - [`ClientTls`]: the client side; trusts one CA bundle and no other CA.
//! - [`Identity`]: a certificate and its key. [`FileError`]: a file that cannot be used.
//! - `reloadable`: both sides reload their files at run time. Open connections keep what they have.

mod client;
mod files;
mod reloadable;
mod server;

pub use client::ClientTls;
pub use files::{File, FileError, Identity};
pub use server::ServerTls;

use std::sync::Arc;
use tokio_rustls::rustls::{
    SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    version::TLS13,
};

/// Peers are ours or generated gRPC clients; none needs an older version.
const VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];
/// The ALPN id of HTTP/2 (RFC 7301; RFC 9113, section 3.2).
const HTTP_2: &[u8] = b"h2";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
