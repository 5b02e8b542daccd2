//! The life of a program.
//!
//! Starting: [`program`] (commands, runtime, telemetry, signals), [`failure`] (exit codes), [`output`] (what a command
//! prints), [`version`], [`notice`] (what a start prints), `command_line` and [`settings`] (flags and environment through
//! clap), [`doctor`] (the steps of a start, checked), [`secret`] (`NAME` or `NAME_FILE`), [`private_folder`] (folders of
//! secrets), [`cidr_set`] (trusted networks), [`bind_address`] (where to listen), [`descriptors`] (how many files it may
//! open), `process` (no core dumps, no unused memory).
//!
//! Running: [`shutdown`] (lame duck, then drain), [`reload_signal`] (SIGHUP), [`healthcheck`] (probes
//! `/readyz` from within a container).

pub mod bind_address;
pub mod cidr_set;
mod command_line;
pub mod descriptors;
pub mod doctor;
pub mod failure;
pub mod healthcheck;
pub mod notice;
pub mod output;
pub mod private_folder;
mod process;
pub mod program;
pub mod reload_signal;
pub mod secret;
pub mod settings;
pub mod shutdown;
pub mod version;
