//! Batches concurrent requests into shared round trips, without added latency and without stale
//! answers.
//!
//! - [`Batcher`]: sends requests in batches. **A request joins only a batch that has not been sent**,
//!   because a batch in flight could return what was true before the request was made. Nothing waits
//!   for a batch to fill: requests gather while earlier batches are in flight, and a request that
//!   finds none is sent at once.
//! - [`Limits`]: the size and the number of batches; `queue` holds the requests that wait, and decides
//!   when one more batch may start.
//! - [`answer_by_key`]: reads each distinct key of a batch once.

mod batcher;
mod queue;

pub use batcher::{Batcher, SubmitError};
pub use queue::Limits;

use std::{collections::HashMap, hash::Hash};

/// Answers a batch of reads by key: `read` gets each distinct key once, in ascending order, and returns
/// the values that exist. The answers are in the order of `keys`; an error is the answer to all.
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
