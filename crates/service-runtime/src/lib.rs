//! What every program of Rolegate needs.
//!
//! Starting: [`program`] (runtime, telemetry, signals, exit code), [`command_line`] and [`settings`]
//! (flags and environment through clap), [`secret`] (`NAME` or `NAME_FILE`), [`cidr_set`] (trusted
//! networks).
//!
//! Serving: [`incoming`] (the accept loop of HTTP and gRPC), [`http_server`] (HTTP/1.1 with limits),
//! [`admin_server`] (`/livez`, `/readyz`, `/metrics`), [`readiness`], [`memory_budget`] (memory that
//! requests may take together), [`ignored_address`] (reports of untrusted peers).
//!
//! Running: [`shutdown`] (lame duck, then drain), [`reload_signal`] (SIGHUP), [`healthcheck`] (probes
//! `/readyz` from within a container).

pub mod admin_server;
pub mod cidr_set;
pub mod command_line;
mod freed_memory;
mod head_deadline;
pub mod healthcheck;
pub mod http_server;
pub mod ignored_address;
pub mod incoming;
pub mod memory_budget;
pub mod program;
pub mod readiness;
pub mod reload_signal;
pub mod secret;
pub mod settings;
pub mod shutdown;
mod write_deadline;
