//! The use cases. They know neither tonic nor SQL, and fail with a [`PostError`].

mod error;
mod reads;
mod service;
mod writes;

pub use error::PostError;
pub use reads::{PageRequest, PostPage};
pub use service::Posts;
