//! Runs every program from its command line to its exit code.
//!
//! [`program`] has the order of a start. A program implements its trait, and `main` calls its function `run`, which:
//!
//! - parses flags and variables through clap, in `command_line`. [`settings`] has the error and the value parsers of
//!   settings. [`bind_address`] and [`cidr_set`] are types of settings, and [`secret`] reads `NAME` or `NAME_FILE`;
//! - prepares the process: `process` disables core dumps and returns unused memory, and [`descriptors`] divides the
//!   open files between the listeners;
//! - runs a command. `serve` prints a [`notice`] of its addresses. [`doctor`] checks the steps of a start, and
//!   [`healthcheck`] requests `/readyz` from within a container. [`output`] prints the results of commands;
//! - turns signals into a [`shutdown`] (lame duck, then drain) or a reload ([`reload_signal`]);
//! - turns a [`failure`] into a line on stderr and an exit code.
//!
//! [`telemetry`] starts the logs, the metrics and the traces of the process, and has a map of their modules.
//!
//! [`private_folder`] checks folders that hold secrets, and [`version`] knows the commit. This crate neither listens
//! nor opens a database.

pub mod audit;
pub mod bind_address;
pub mod cidr_set;
mod command_line;
pub mod descriptors;
pub mod doctor;
pub mod event_log;
pub mod failure;
pub mod healthcheck;
pub mod log_limiter;
pub mod logs;
pub mod metrics;
pub mod notice;
pub mod output;
pub mod private_folder;
mod process;
pub mod program;
pub mod reload_signal;
pub mod request_context;
pub mod secret;
pub mod settings;
pub mod shutdown;
pub mod telemetry;
pub mod traces;
pub mod version;
