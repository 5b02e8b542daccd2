//! The client of posts-service for other services. Calls are balanced over all replicas, each with a
//! deadline; errors are the contract's reasons.
//!
//! - [`PostsClient`]: one method for each call; concurrent reads share calls and are never stale.
//! - [`Post`], [`PostInput`], [`PostPage`], [`PostQuery`]: the types of these calls.
//! - [`settings`] (feature `settings`): the settings of programs that call posts-service.

mod client;
mod post;
mod post_batcher;
#[cfg(feature = "settings")]
pub mod settings;

pub use client::PostsClient;
pub use post::{Post, PostInput, PostPage, PostQuery};
