//! Posts over gRPC: authors write them, everybody reads them.
//!
//! auth-service authorizes every write anew; this service stores neither roles nor usernames.
//! A call passes three layers: transport → use case → store.
//!
//! - [`commands`]: the program and its commands; [`host`]: the service for other programs.
//! - [`settings`]: flags and environment.
//! - `grpc`: maps messages to use cases, and outcomes to statuses.
//! - `posts`: the use cases and their rules; knows neither tonic nor SQL.
//! - [`store`]: posts in SQL, on two engines.
//! - `post`: a stored post, and the content of one to write.

pub mod commands;
mod grpc;
pub mod host;
mod post;
mod posts;
pub mod settings;
#[cfg_attr(simulation, path = "../../tests/simulation/stores/posts.rs")]
pub mod store;
