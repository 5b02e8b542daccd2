//! Batches concurrent requests into shared round trips, without added latency and without stale answers.
//!
//! A caller hands its request to [`Batcher`] (`batcher.rs`). The request waits in the queue (`queue.rs`), which
//! also knows how many batches are in flight and decides when one more may start. A worker task then takes the
//! requests that wait, sends them as one batch, and gives each caller its answer.
//!
//! **A request joins only a batch that has not been sent**, because a batch in flight could return what was
//! true before the request was made. Nothing waits for a batch to fill: requests gather while earlier batches
//! are in flight, and a request is sent at once if another batch may start.
//!
//! [`Limits`] bounds the size and the number of batches. [`answer_by_key`] is for batches of reads by key: it
//! reads each distinct key once. This crate does not know what a request is, and it does not retry.

mod batcher;
mod queue;

pub use batcher::{Batcher, SubmitError};
pub use queue::Limits;

use std::{collections::HashMap, hash::Hash};

/// Answers a batch of reads by key.
///
/// `read` gets each distinct key once, in ascending order, and returns the values that exist. The answers are
/// in the order of `keys`. A key without a value gets `None`. If `read` fails, every key gets the error.
pub async fn answer_by_key<K, V, E, F>(
    keys: Vec<K>,
    read: impl FnOnce(Vec<K>) -> F,
) -> Vec<Result<Option<V>, E>>
where
    K: Ord + Hash + Clone,
    V: Clone,
    E: Clone,
    F: Future<Output = Result<HashMap<K, V>, E>>,
{
    let mut distinct = keys.clone();
    distinct.sort_unstable();
    distinct.dedup();
    match read(distinct).await {
        Ok(values) => keys
            .iter()
            .map(|key| Ok(values.get(key).cloned()))
            .collect(),
        Err(error) => vec![Err(error); keys.len()],
    }
}

#[cfg(test)]
mod tests;
