//! Posts over gRPC: written by authors, read by everybody.
//!
//! Who may do what, auth-service decides for each call anew; this service keeps no roles and no names
//! of users. A call goes one way and comes back: transport → use case → store.
//!
//! - [`program()`]: what the binary runs; [`PostsService`]: the same as a library, for other programs.
//! - `commands`: what else the binary does: migrate, doctor.
//! - [`settings`]: flags and environment.
//! - [`grpc`]: messages into use cases, outcomes into statuses; one file per call.
//! - [`posts`]: the use cases and their rules; knows neither tonic nor SQL.
//! - [`store`]: where posts are kept: one trait, two engines; [`clock`]: what time it is.
//! - [`audit`]: who did what; `metrics`: how much of it.
//! - [`post`], [`post_content`]: what everything above speaks of: posts as they are, and as they are to be.

pub mod audit;
pub mod clock;
mod commands;
pub mod grpc;
mod metrics;
pub mod post;
pub mod post_content;
pub mod posts;
mod program;
pub mod service;
pub mod settings;
pub mod store;

pub use program::program;
pub use service::PostsService;
