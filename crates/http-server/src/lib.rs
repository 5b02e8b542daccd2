//! Accepts connections for HTTP and gRPC, and serves HTTP/1.1, with limits for each client.
//!
//! A connection passes these modules in order:
//!
//! - [`listener`], for HTTP and gRPC, accepts it and completes its TLS handshake. The connection waits until the
//!   listener has room, and is closed if its address has too many connections ([`clients`]). [`refused_peer`] logs why
//!   a connection was refused.
//! - [`http_server`], for HTTP only, serves it. `connection` enforces the deadlines of request heads and of writes, and
//!   records when the connection is idle. When the listener needs room, `http_server` closes the connection that has
//!   been idle longest.
//! - [`host_header`] refuses requests that do not have exactly one valid `Host`.
//!
//! HTTP and gRPC share three more modules. [`clients`] defines which addresses count as one client, and limits the
//! slots that a client may hold. [`memory_budget`] bounds the memory of all requests together. [`ignored_address`]
//! reports that an untrusted peer sends client addresses.
//!
//! [`admin_server`] serves `/livez`, `/readyz` and `/metrics`. [`readiness`] holds what `/readyz` answers.

pub mod admin_server;
pub mod clients;
mod connection;
pub mod host_header;
pub mod http_server;
pub mod ignored_address;
pub mod listener;
pub mod memory_budget;
pub mod readiness;
pub mod refused_peer;
