//! Users, password hashing, access tokens and role decisions over gRPC.
//!
//! A call passes three layers: transport → use case → store.
//!
//! - [`commands`]: the program and its commands, also for rolegate; [`host`]: the service for other
//!   programs.
//! - [`settings`]: flags and environment.
//! - `grpc`: maps messages to use cases, and outcomes to statuses.
//! - [`accounts`]: the use cases and their rules; knows neither tonic nor SQL.
//! - [`store`]: the trait and its two engines.
//! - [`opaque_token`]: the keys of programs and the sessions of people.
//! - `password`: hashing and verifying; [`token`]: issuing and verifying access tokens;
//!   [`secret_generation`]: random secrets.
//! - `second_factor`: one-time codes and recovery codes.
//! - `fuzzing`: what fuzz targets reach; compiled for them only.
//! - `actor`: who acts; `audit`: the audit log; `metrics`: the metrics.
//! - `call_origin`: client address and deadline of a call; [`user`]: the user types; `roles`: the roles
//!   that exist.

#![cfg_attr(
    test,
    expect(
        clippy::too_many_lines,
        reason = "a test tells its story in order, with its values in sight"
    )
)]

pub mod accounts;
mod actor;
mod audit;
mod call_origin;
pub mod commands;
#[cfg(fuzzing)]
pub mod fuzzing;
mod grpc;
pub mod host;
mod metrics;
pub mod opaque_token;
mod password;
mod roles;
mod second_factor;
pub mod secret_generation;
mod secret_list;
pub mod settings;
pub mod store;
pub mod token;
pub mod user;

pub use host::AuthService;
