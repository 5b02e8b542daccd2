//! Lets shuttle run other tasks while a thread waits for a future.

pub use shuttle::future::block_on;
