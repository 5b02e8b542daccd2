//! TLS from PEM files: TLS 1.3 only, with rustls and ring.
//!
//! - [`ServerTls`]: the server side; with a client CA it requires client certificates.
//! - [`ClientTls`]: the client side; trusts one CA bundle and no other CA.
//! - [`Identity`]: a certificate and its key. [`FileError`]: a file that cannot be used.
//! - [`tls_problem`]: why TLS failed.
//! - `reloadable`: both sides reload their files at run time. Open connections keep what they have.

mod client;
mod files;
mod problem;
mod protocol;
mod reloadable;
mod server;

pub use client::ClientTls;
pub use files::{File, FileError, Identity};
pub use problem::tls_problem;
pub use protocol::{HTTP_1, HTTP_2};
pub use server::ServerTls;
pub use tokio_rustls::server::TlsStream;
