//! How an internal service asks posts-service, as it asks auth-service by `auth-client`: calls are
//! balanced over all replicas, each has a deadline, errors are the contract's reasons.
//!
//! - [`PostsClient`]: one method per call; concurrent reads share calls without staleness.
//! - [`Post`], [`PostInput`], [`PostPage`], [`PostQuery`]: what the calls speak of.
//! - [`settings`] (feature `settings`): flags and environment of programs that ask posts-service.

mod client;
mod post;
mod reads;
#[cfg(feature = "settings")]
pub mod settings;
mod wire;

pub use client::PostsClient;
pub use post::{Post, PostInput, PostPage, PostQuery};
