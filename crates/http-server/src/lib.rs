//! Listens and serves HTTP/1.1 with limits.
//!
//! A connection passes these modules in order:
//!
//! - [`listener`], for HTTP and gRPC: accepts it, if its address has not too many ([`clients`]), as soon as there is
//!   room, and completes its TLS handshake. [`refused_peer`] logs why a connection was refused.
//! - [`http_server`], for HTTP only: serves it. `connection` enforces the deadlines of its heads and writes, and
//!   reports to `open_connections` when it is idle. When the listener needs room, `open_connections` closes the one that
//!   has been idle longest.
//! - [`host_header`]: refuses requests without exactly one valid `Host`.
//!
//! Limits and reports for HTTP and gRPC: [`clients`] (what one client is, and what it may hold), [`memory_budget`]
//! (memory that requests may take together), [`ignored_address`] (client addresses from untrusted peers).
//!
//! Probes: [`admin_server`] (`/livez`, `/readyz`, `/metrics`), [`readiness`].

pub mod admin_server;
pub mod clients;
mod connection;
pub mod host_header;
pub mod http_server;
pub mod ignored_address;
pub mod listener;
pub mod memory_budget;
mod open_connections;
pub mod readiness;
pub mod refused_peer;
