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
    match read(distinct(&keys)).await {
        Ok(values) => keys.iter().map(|key| Ok(values.get(key).cloned())).collect(),
        Err(error) => vec![Err(error); keys.len()],
    }
}

/// The same, except that each key is read alone after an error that `is_of_one` key: then it is the
/// answer to that key only.
pub async fn answer_by_key_or_singly<K, V, E, F>(
    keys: Vec<K>,
    read: impl Fn(Vec<K>) -> F,
    is_of_one: impl Fn(&E) -> bool,
) -> Vec<Result<Option<V>, E>>
where
    K: Ord + Hash + Clone,
    V: Clone,
    E: Clone,
    F: Future<Output = Result<HashMap<K, V>, E>>,
{
    match read(distinct(&keys)).await {
        Ok(values) => keys.iter().map(|key| Ok(values.get(key).cloned())).collect(),
        Err(error) if is_of_one(&error) && keys.len() > 1 => {
            let mut answers = HashMap::new();
            for key in distinct(&keys) {
                let answer = read(vec![key.clone()]).await;
                answers.insert(key.clone(), answer.map(|mut values| values.remove(&key)));
            }
            keys.iter().map(|key| answers.get(key).cloned().unwrap_or(Ok(None))).collect()
        }
        Err(error) => vec![Err(error); keys.len()],
    }
}

fn distinct<K: Ord + Clone>(keys: &[K]) -> Vec<K> {
    let mut distinct = keys.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}
