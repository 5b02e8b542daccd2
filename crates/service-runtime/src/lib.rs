//! What every program of Rolegate needs exactly once.
//!
//! - [`settings`]: flags and environment through clap; a bad one exits 64 with one clear line.
//! - [`command_line`]: the same, with the command that is asked for.
//! - [`secret`]: secrets from `NAME` or `NAME_FILE`.
//! - [`networks`]: lists of CIDRs whose members are believed.
//! - [`program`]: the life of a program: runtime, logs, signals, exit code.
//! - [`reload_signal`]: SIGHUP, at which files are read again.
//! - [`shutdown`]: running, then lame duck, then stopping.
//! - [`http_listener`]: HTTP/1.1 connections with limits that `axum::serve` does not have.
//! - [`readiness`]: whether new work is welcome.
//! - [`ops`]: `/livez`, `/readyz` and `/metrics`.
//! - [`healthcheck`]: a program's own `/readyz`, asked from its container.
//! - [`audit`]: who did what: lines of the log that nothing silences.
//! - [`doctor`]: what is wrong, at one look.
//! - [`telemetry`]: what those who run a program are told: [`logs`] on stderr, with the request that
//!   they are about ([`request_context`]), and [`traces`] for a collector; [`metrics`] are asked for.

pub mod admin_server;
pub mod cidr_set;
pub mod command_line;
mod connection_deadlines;
pub mod doctor;
pub mod healthcheck;
pub mod http_server;
pub mod incoming;
pub mod program;
pub mod readiness;
pub mod reload_signal;
pub mod secret;
pub mod settings;
pub mod shutdown;
