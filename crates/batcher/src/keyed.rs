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

/// The same, with what the values of one read have in common. After an error that `is_of_one` key the
/// halves are read, down to single keys: then it is the answer to that key only. Any other error is the
/// answer to all keys that have none yet.
pub async fn answer_by_key_or_singly<K, C, V, E, F>(
    keys: Vec<K>,
    read: impl Fn(Vec<K>) -> F,
    is_of_one: impl Fn(&E) -> bool,
) -> Vec<Result<(C, Option<V>), E>>
where
    K: Ord + Hash + Clone,
    C: Copy,
    V: Clone,
    E: Clone,
    F: Future<Output = Result<(C, HashMap<K, V>), E>>,
{
    let error = match read(distinct(&keys)).await {
        Ok((common, values)) => {
            return keys.iter().map(|key| Ok((common, values.get(key).cloned()))).collect();
        }
        Err(error) if is_of_one(&error) && keys.len() > 1 => error,
        Err(error) => return vec![Err(error); keys.len()],
    };
    let (mut answers, mut last_error) = (HashMap::new(), error);
    let mut unread = halves(distinct(&keys));
    while let Some(part) = unread.pop() {
        match read(part.clone()).await {
            Ok((common, mut values)) => {
                answers.extend(part.into_iter().map(|key| {
                    let value = values.remove(&key);
                    (key, Ok((common, value)))
                }));
            }
            Err(error) if !is_of_one(&error) => {
                last_error = error;
                break;
            }
            Err(error) if part.len() == 1 => {
                answers.extend(part.into_iter().map(|key| (key, Err(error.clone()))));
            }
            Err(_) => unread.extend(halves(part)),
        }
    }
    let answer = |key| answers.get(key).cloned().unwrap_or_else(|| Err(last_error.clone()));
    keys.iter().map(answer).collect()
}

/// Two parts, or one of a single key.
fn halves<K>(mut keys: Vec<K>) -> Vec<Vec<K>> {
    let second = keys.split_off(keys.len().div_ceil(2));
    [keys, second].into_iter().filter(|half| !half.is_empty()).collect()
}

fn distinct<K: Ord + Clone>(keys: &[K]) -> Vec<K> {
    let mut distinct = keys.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

#[cfg(test)]
mod tests {
    use super::answer_by_key_or_singly;
    use std::{cell::Cell, collections::HashMap};

    /// Reads keys, each its own value; the key 5 spoils a statement, and the statement of this number
    /// fails for a reason of its own. Returns the answers and the number of statements.
    async fn read(
        keys: Vec<u32>,
        outage: usize,
    ) -> (Vec<Result<Option<u32>, &'static str>>, usize) {
        let statements = &Cell::new(0);
        let read = |keys: Vec<u32>| async move {
            statements.set(statements.get() + 1);
            match keys.contains(&5) {
                _ if statements.get() == outage => Err("outage"),
                true => Err("data"),
                false => {
                    Ok(((), keys.into_iter().map(|key| (key, key)).collect::<HashMap<_, _>>()))
                }
            }
        };
        let answers = answer_by_key_or_singly(keys, read, |&error| error == "data").await;
        let answers = answers.into_iter().map(|answer| Ok(answer?.1)).collect();
        (answers, statements.get())
    }

    #[tokio::test]
    async fn key_that_spoils_a_batch_fails_alone() {
        let (answers, statements) = read((0..64).chain([5, 7]).collect(), 0).await;
        for (key, answer) in (0..64).chain([5, 7]).zip(answers) {
            let expected = if key == 5 { Err("data") } else { Ok(Some(key)) };
            assert_eq!(answer, expected, "{key}");
        }
        assert!(statements <= 13, "{statements} for 64 keys");
        assert_eq!(read(vec![5], 0).await, (vec![Err("data")], 1));
        assert_eq!(read(vec![5, 5], 0).await.0, [Err("data"), Err("data")]);
    }

    #[tokio::test]
    async fn outage_ends_the_reading() {
        let (answers, statements) = read((0..64).collect(), 3).await;
        assert_eq!(statements, 3);
        assert!(answers.contains(&Err("outage")));
        assert_eq!(read((0..64).collect(), 1).await, (vec![Err("outage"); 64], 1));
    }
}
