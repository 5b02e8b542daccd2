//! Users, password hashing, access tokens and role decisions over gRPC.
//!
//! A call goes one way and comes back: transport → use case → store.
//!
//! - [`program()`]: what the binary runs; [`service`]: the same as a library, for other programs.
//! - `commands`: what else the binary does: migrate, secrets, users, doctor.
//! - [`settings`]: flags and environment.
//! - [`grpc`]: messages into use cases, outcomes into statuses; one file per call.
//! - [`accounts`]: the use cases and their rules; knows neither tonic nor SQL.
//! - [`store`]: where users are kept: one trait, two engines.
//! - [`password`]: hashing and verifying; [`token`]: signing and judging access tokens;
//!   [`secret_generation`]: secrets that nobody has chosen; [`clock`]: what time it is.
//! - `audit`: who did what; `metrics`: how much of it.
//! - [`user`]: the user type that every module above uses.

pub mod accounts;
mod audit;
pub mod clock;
mod commands;
pub mod grpc;
mod metrics;
pub mod password;
mod program;
pub mod request_origin;
pub mod secret_generation;
pub mod service;
pub mod settings;
pub mod store;
pub mod token;
pub mod user;

pub use program::program;
pub use service::AuthService;
