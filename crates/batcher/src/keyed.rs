//! Batches of reads by key.

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
        Ok(values) => keys.iter().map(|key| Ok(values.get(key).cloned())).collect(),
        Err(error) => vec![Err(error); keys.len()],
    }
}
