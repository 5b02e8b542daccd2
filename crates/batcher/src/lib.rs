//! Batches concurrent requests into shared round trips, without added latency and without stale
//! answers.
//!
//! - [`Batcher`]: sends requests in batches. **A request joins only a batch that has not been sent**,
//!   because a batch in flight could return what was true before the request was made. Nothing waits
//!   for a batch to fill: requests gather while earlier batches are in flight, and a request that
//!   finds none is sent at once.
//! - [`Limits`]: the size and the number of batches.
//! - [`answer_by_key`]: reads each distinct key of a batch once; [`answer_by_key_or_singly`]: and alone,
//!   if one of them spoils the batch.
//!
//! `worker` sends the batches, one task for each in flight, and watches for stalls; `state` decides when
//! one more may start.

mod batcher;
mod keyed;
mod state;
mod worker;

pub use batcher::{BatchDropped, Batcher};
pub use keyed::{answer_by_key, answer_by_key_or_singly};
pub use state::Limits;

#[cfg(test)]
mod tests;
