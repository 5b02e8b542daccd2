//! Batches concurrent requests into shared round trips, without added latency and without stale answers.
//!
//! A caller hands its request to [`Batcher`]. The request waits, until a worker task takes the requests that wait,
//! sends them as one batch, and gives each caller its answer. With [`Batcher::let_callers_send`], a caller whose
//! request need not wait sends it itself, as a batch of one.
//!
//! **A request joins only a batch that has not been sent**, because a batch in flight could return what was
//! true before the request was made. Nothing waits for a batch to fill: requests gather while earlier batches
//! are in flight, and a request is sent at once if another batch may start.
//!
//! [`Limits`] bounds the size and the number of batches. [`answer_by_key`] is for batches of reads by key: it
//! reads each distinct key once. This crate does not know what a request is, and it does not retry.

mod batcher;

pub use batcher::Batcher;

use std::{collections::HashMap, hash::Hash, time::Duration};

/// Limits the size of batches, and the number of batches in flight.
///
/// Few batches in flight make large batches, which cost less for each request. But a stalled batch must not
/// delay the others: when every batch in flight is older than `stall_timeout`, one more may start.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of requests in one batch; at least 1.
    pub max_batch_size: usize,
    /// The maximum number of batches in flight while answers arrive; at least 1.
    pub max_in_flight: usize,
    /// The time without an answer after which a batch counts as stalled.
    pub stall_timeout: Duration,
    /// The maximum number of batches in flight while all of them are stalled; at least `max_in_flight`.
    pub max_in_flight_stalled: usize,
}

/// The reason why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The sender of the batch panicked, or returned fewer answers than requests.
    #[error("the batch ended without an answer")]
    BatchDropped,
    /// The request was not sent, because too many others already wait.
    #[error("too many requests wait for a batch")]
    QueueFull,
}

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
