//! Runs gateway, auth-service and posts-service in one process, by default on embedded databases.
//!
//! This crate only puts the three together. Their rules and endpoints are in their own crates.
//!
//! - [`settings`] has the flags and variables, most of which come from the three crates.
//! - `commands` implements the trait of a program: it runs `serve`, checks for `doctor`, and has the commands of
//!   rolegate.
//! - `serve` has the steps of a start in their order. `data_dir` opens the folder of generated secrets and embedded
//!   databases, and `databases` decides which databases are used.
//! - `services` opens auth-service and posts-service, and serves all three until a shutdown.
//! - [`in_memory`] connects the three with the usual gRPC clients, but without sockets.
//! - `listeners` binds the addresses and prints them. `banner` adds what to try first, and where the password of the
//!   user admin is.

mod banner;
mod commands;
mod data_dir;
mod databases;
pub mod in_memory;
mod listeners;
mod serve;
mod services;
pub mod settings;
