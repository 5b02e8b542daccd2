//! Reads: which rows count, and concurrent reads that share statements.

mod batched_reads;
mod reads;

pub use batched_reads::{BatchedReads, ReadByKeys, RowsByKey};
pub use reads::{Reads, Timed};
