//! Listens and serves HTTP/1.1 with limits.
//!
//! Accepting, for HTTP and gRPC: [`incoming`] (the accept loop), [`address_limit`] (connections per
//! address), [`clients`] (what one client is, and its share), [`ignored_address`] (reports of untrusted
//! peers), [`refused_peer`] (log lines about refused connections), [`memory_budget`] (memory that
//! requests may take together).
//!
//! HTTP: [`http_server`] (a listener; `head_deadline` and `write_deadline`: its deadlines;
//! `open_connections` and `activity`: which connection has been idle longest; `watched_response`: when a
//! response is complete), [`host_header`] (one and valid).
//!
//! Probes: [`admin_server`] (`/livez`, `/readyz`, `/metrics`), [`readiness`].

mod activity;
pub mod address_limit;
pub mod admin_server;
pub mod clients;
mod head_deadline;
pub mod host_header;
pub mod http_server;
pub mod ignored_address;
pub mod incoming;
pub mod memory_budget;
mod open_connections;
pub mod readiness;
pub mod refused_peer;
mod watched_response;
mod write_deadline;
