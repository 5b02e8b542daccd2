//! TLS of gRPC, from files. TLS 1.3 and HTTP/2 only, with rustls and ring.
//!
//! - [`ServerTls`]: the end that is called; demands a certificate of its callers where it is told
//!   whose.
//! - [`ClientTls`]: the end that calls; trusts the authorities of one file and no others.
//! - [`Identity`]: a certificate and its key; [`FileError`]: a file that cannot be used.
//!
//! Both can read their files again while connections are open: those stay as they are, new ones
//! are made with what was read. What cannot be used changes nothing.

mod client;
mod files;
mod server;

pub use client::ClientTls;
pub use files::{File, FileError, Identity};
pub use server::ServerTls;
pub use tokio_rustls::TlsAcceptor;

use std::sync::Arc;
use tokio_rustls::rustls::{
    SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    version::TLS13,
};

/// Both ends are ours or generated gRPC clients, none of which needs what is older.
const VERSIONS: &[&SupportedProtocolVersion] = &[&TLS13];
/// HTTP/2 in the negotiation of protocols (RFC 7301; RFC 9113, section 3.2).
const HTTP_2: &[u8] = b"h2";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
