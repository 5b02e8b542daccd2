//! Loads TLS from PEM files, with rustls and ring. Only TLS 1.3 is supported.
//!
//! `tls.rs` builds the two sides. [`ServerTls`] accepts connections, and requires client certificates if it has
//! a client CA. [`ClientTls`] opens connections, and trusts the CAs of one file and no others. Both are aliases
//! of `Reloadable` (`reloadable.rs`), which reads its files again at run time. Open connections keep the
//! certificate with which they began. [`tls_problem`] says why TLS failed.
//!
//! `files.rs` reads the files. [`TlsFiles`] are the files that settings name, [`Identity`] is a certificate with its
//! key, and [`FileError`] describes a file that cannot be used. Other crates also use [`read_file`], which reads a file of limited size, and
//! [`explain_read_error`], which says why a file cannot be read.

mod files;
mod reloadable;
mod tls;

pub use files::{FileError, Identity, TlsFiles, explain_read_error, read_file};
pub use tls::{ClientTls, HTTP_1, HTTP_2, ServerTls, tls_problem};
pub use tokio_rustls::server::TlsStream;
