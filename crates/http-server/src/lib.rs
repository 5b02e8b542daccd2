//! Listens and serves HTTP/1.1 with limits.
//!
//! Accepting, for HTTP and gRPC: [`listener`] (the accept loop), [`clients`] (what one client is, and what
//! it may hold), [`ignored_address`] (reports of untrusted peers), [`refused_peer`] (log lines about
//! refused connections), [`memory_budget`] (memory that requests may take together).
//!
//! HTTP: [`http_server`] (serves a listener; `connection`: its deadlines; `open_connections`: which one
//! has been idle longest), [`host_header`] (one and valid).
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
