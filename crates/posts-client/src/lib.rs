//! The client of posts-service for other services. Calls are balanced over all replicas, each with a
//! deadline; errors are the contract's reasons.
//!
//! - [`PostsClient`]: one method for each call; concurrent reads share calls and are never stale.
//! - [`Post`], [`PostInput`], [`PostPage`], [`PostQuery`]: the types of these calls.
//! - [`READS`] (feature `metrics`): the sizes of batches.
//! - [`settings`] (feature `settings`): the settings of programs that call posts-service.

mod client;
mod post;
#[cfg(feature = "settings")]
pub mod settings;

pub use client::PostsClient;
#[cfg(feature = "metrics")]
pub use client::READS;
pub use post::{Post, PostInput, PostPage, PostQuery};
