//! TLS from PEM files: TLS 1.3 only, with rustls and ring.
//!
//! - [`ServerTls`]: the server side; with a client CA it requires client certificates.
//! - [`ClientTls`]: the client side; trusts one CA bundle and no other CA.
//! - [`Identity`]: a certificate and its key. [`FileError`]: a file that cannot be used. [`read_file`],
//!   [`explain_read_error`]: a bounded file, and why it cannot be read, also for others.
//! - [`tls_problem`]: why TLS failed.
//! - `reloadable`: both sides reload their files at run time. Open connections keep what they have.

mod files;
mod reloadable;
mod tls;

pub use files::{FileError, Identity, explain_read_error, read_file};
pub use tls::{ClientTls, HTTP_1, HTTP_2, ServerFiles, ServerTls, tls_problem};
pub use tokio_rustls::server::TlsStream;
