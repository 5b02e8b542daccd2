//! The client of posts-service, for other services in Rust.
//!
//! [`PostsClient`] (`client.rs`) has one method for each call of the contract. It gives every call a
//! deadline, balances calls over all replicas, and returns errors with the reasons of the contract.
//! Concurrent reads share calls and are never stale. The types of the calls are the messages of the contract
//! ([`posts_v1`]). Connections, retries and TLS are in `rolegate-grpc-client`.
//!
//! - [`READS`] is a histogram of the sizes of batches.
//! - [`settings`] has the settings of programs that call posts-service.

mod client;
pub mod settings;

pub use client::{PostsClient, READS};
pub use rolegate_proto::posts_v1;
