//! auth-service: users, password hashing, access tokens and role decisions over gRPC.
//!
//! A call passes three layers, and each knows only those below it. `grpc` translates a message into
//! a call of a use case, and the outcome into a status. [`accounts`] contains the use cases with
//! all rules, and knows neither tonic nor SQL. [`store`] is the trait of the database with its two
//! engines, PostgreSQL and SQLite.
//!
//! The use cases rely on these modules:
//!
//! - `password` hashes and verifies passwords; `second_factor` handles one-time codes and recovery
//!   codes.
//! - [`tokens`] issues and verifies access tokens, and defines the API keys of programs, the sessions
//!   of people and the other tokens; [`secret_generation`] makes random secrets; `secret_list` parses
//!   settings that hold several secrets.
//! - `actor` is the user who makes a request; `call_origin` is the client address and the deadline
//!   of a call; [`user`] defines the types of users, and `group` those of groups and memberships; `roles` lists the
//!   roles that exist.
//! - `change` and `principal` say what is changed and by whom: [`store`] derives the statements from
//!   both, and `audit` the lines of the audit log and the rows of the record. `former_username` is the
//!   name that a renamed user had; `metrics` defines the metrics.
//!
//! [`settings`] reads flags and environment variables. [`host`] builds the service from these
//! settings, for this program and for rolegate. [`commands`] contains the commands of an operator;
//! both programs offer all of them but `init_secrets`. `fuzzing` contains the functions that fuzz
//! targets call; it is compiled only for them.

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
mod change;
pub mod commands;
mod former_username;
#[cfg(fuzzing)]
pub mod fuzzing;
mod group;
mod grpc;
pub mod host;
mod metrics;
mod password;
mod principal;
mod roles;
mod search_key;
mod second_factor;
pub mod secret_generation;
mod secret_list;
pub mod settings;
pub mod store;
pub mod tokens;
pub mod user;

pub use host::AuthService;
