//! What every program of Rolegate needs.
//!
//! Starting: [`program`] (runtime, telemetry, signals, exit code), [`notice`] (what it prints),
//! [`command_line`] and [`settings`] (flags and environment through clap), [`secret`] (`NAME` or
//! `NAME_FILE`), [`private_folder`] (folders of secrets), [`cidr_set`] (trusted networks),
//! [`bind_address`] (where to listen).
//!
//! Serving: [`incoming`] (the accept loop of HTTP and gRPC), [`address_limit`] and [`descriptors`] (its
//! caps), [`host_header`] (one and valid), [`http_server`] (HTTP/1.1 with limits; `open_connections` and `activity`: which connection has
//! been idle longest; `watched_response`: when a response is complete),
//! [`admin_server`] (`/livez`, `/readyz`, `/metrics`), [`readiness`], [`memory_budget`] (memory that
//! requests may take together), [`ignored_address`] (reports of untrusted peers), [`clients`] (what one
//! client is, and its share), [`tls_files`] (settings of TLS), [`refused_peer`] (log lines about
//! refused connections).
//!
//! Running: [`shutdown`] (lame duck, then drain), [`reload_signal`] (SIGHUP), [`healthcheck`] (probes
//! `/readyz` from within a container), [`doctor`] (the steps of a start, checked).

mod activity;
pub mod address_limit;
pub mod admin_server;
pub mod bind_address;
pub mod cidr_set;
pub mod clients;
pub mod command_line;
mod core_dumps;
pub mod descriptors;
pub mod doctor;
mod freed_memory;
mod head_deadline;
pub mod healthcheck;
pub mod host_header;
pub mod http_server;
pub mod ignored_address;
pub mod incoming;
pub mod memory_budget;
pub mod notice;
mod open_connections;
pub mod private_folder;
pub mod program;
pub mod readiness;
pub mod refused_peer;
pub mod reload_signal;
pub mod secret;
pub mod settings;
pub mod shutdown;
pub mod tls_files;
mod watched_response;
mod write_deadline;
