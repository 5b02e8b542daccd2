//! Lets concurrent reads by key share one statement.
//!
//! If one row or one key makes the statement fail, the keys are read again in halves, so that only the read of
//! that row or key fails.
//!
//! By the rule of [`rolegate_batcher`], a read joins only a statement that has not been sent, so its row is
//! never older than the read.

use crate::{StoreError, Timed, metrics::READ_BATCHES};
use futures_util::{StreamExt as _, future::BoxFuture, stream};
use rolegate_batcher::{Batcher, Limits};
use rolegate_program::metrics::{Histogram, observe_size};
use std::{collections::HashMap, hash::Hash, sync::Arc, time::Duration};

const LIMITS: Limits = Limits {
    // 512 keys are enough for all callers of a busy replica, and the database reads 512 rows by key in less
    // than a millisecond.
    max_batch_size: 512,
    // With one batch at a time, batches are as large as possible, which costs the database the least per row.
    max_in_flight: 1,
    stall_timeout: Duration::from_millis(20),
    max_in_flight_stalled: 4,
};

/// The maximum number of statements that run at the same time while a batch that failed because of its data is
/// read in parts. The limit leaves connections to other statements if a table is full of unreadable rows.
const MAX_PARTS_IN_FLIGHT: usize = 8;

/// The labels of the metric of batch sizes.
#[derive(Clone, Copy, Debug)]
pub struct BatchLabels {
    /// The name of the store.
    pub store: &'static str,
    /// The kind of key, such as a user's id.
    pub key: &'static str,
}

/// The key of a batched read. In ascending order, the keys of one row follow each other.
pub trait BatchKey: Ord + Clone + Send + Sync + 'static {
    /// The part of the key that identifies the row. Keys that differ in other parts can be of the same row.
    type RowKey: Eq + Hash + Clone + Send;

    /// Returns the part that identifies the row.
    fn row_key(&self) -> Self::RowKey;
}

impl BatchKey for i64 {
    type RowKey = Self;

    fn row_key(&self) -> Self {
        *self
    }
}

/// Reads rows `R` of a store `S` by unique keys `K`, so that concurrent reads share one statement.
pub struct BatchedReads<S: ?Sized, K: BatchKey, R> {
    batcher: Batcher<K, Result<Timed<Option<R>>, StoreError>>,
    reader: Arc<Reader<S, K, R>>,
}

/// A function that reads the rows of the given keys, and returns the rows in any order. Keys without a row are
/// left out. No key is passed twice, but several keys can be of one row.
pub type ReadByKeys<S, K, R> =
    for<'a> fn(&'a S, &'a [K]) -> BoxFuture<'a, Result<Timed<Vec<R>>, StoreError>>;

struct Reader<S: ?Sized, K: BatchKey, R> {
    store: Arc<S>,
    read: ReadByKeys<S, K, R>,
    key_of: fn(&R) -> K::RowKey,
    /// The metric of the number of different keys in a batch.
    batch_sizes: Histogram,
}

/// The keys that shared a statement, and the outcome of the statement.
struct Part<'k, K, R> {
    keys: &'k [K],
    outcome: Result<Timed<Vec<R>>, StoreError>,
}

/// The rows by key, and the time of the read. A key that cannot be read maps to its error. A key without a row
/// is absent.
pub type RowsByKey<K, R> = Timed<HashMap<K, Result<R, StoreError>>>;

impl<S, K, R> BatchedReads<S, K, R>
where
    S: ?Sized + Send + Sync + 'static,
    K: BatchKey,
    R: Clone + Send + 'static,
{
    /// Creates the reads of a store. `read` runs the statement, and `key_of` returns the key that
    /// identifies a row.
    pub fn new(
        labels: BatchLabels,
        store: &Arc<S>,
        read: ReadByKeys<S, K, R>,
        key_of: fn(&R) -> K::RowKey,
    ) -> Self {
        let reader = Arc::new(Reader {
            store: Arc::clone(store),
            read,
            key_of,
            batch_sizes: READ_BATCHES.with_label_values(&[labels.store, labels.key]),
        });
        let reader_of_batches = Arc::clone(&reader);
        // Each statement has a task of its own: a caller that left would otherwise drop the connection in use.
        let batcher = Batcher::new(LIMITS, move |keys: Vec<K>| {
            let reader = Arc::clone(&reader_of_batches);
            async move { reader.answer(keys).await }
        });
        Self { batcher, reader }
    }

    /// Reads the row of this key with a statement that concurrent reads share. Returns `None` if there is no
    /// row.
    pub async fn get(&self, key: impl Into<K>) -> Result<Timed<Option<R>>, StoreError> {
        self.batcher.submit(key.into()).await?
    }

    /// Reads the rows of many keys with a statement that no other caller shares. Without keys, sends no
    /// statement and returns the time 0.
    pub async fn get_all(&self, keys: Vec<K>) -> Result<RowsByKey<K::RowKey, R>, StoreError> {
        if keys.is_empty() {
            return Ok(Timed {
                at: 0,
                value: HashMap::new(),
            });
        }
        self.reader.read(&remove_duplicates(keys)).await
    }
}

/// Splits sorted keys in halves, and keeps the keys of one row together, because the row is read for all of them.
/// Returns `None` if all keys are of one row.
fn split_between_rows<K: BatchKey>(keys: &[K]) -> Option<[&[K]; 2]> {
    let rows: Vec<&[K]> = keys
        .chunk_by(|key, next| key.row_key() == next.row_key())
        .collect();
    let first_half = &rows[..rows.len() / 2];
    let (first, second) = keys.split_at(first_half.iter().map(|keys| keys.len()).sum());
    (!first.is_empty()).then_some([first, second])
}

fn remove_duplicates<K: Ord>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

impl<K: Eq + Hash, R: Clone> RowsByKey<K, R> {
    /// Returns a copy of the row of this key. Fails if the key cannot be read.
    pub fn find(&self, key: &K) -> Result<Timed<Option<R>>, StoreError> {
        Ok(Timed {
            at: self.at,
            value: self.value.get(key).cloned().transpose()?,
        })
    }
}

impl<S, K, R> Reader<S, K, R>
where
    S: ?Sized + Send + Sync,
    K: BatchKey,
    R: Clone + Send,
{
    /// Reads the rows of a batch, and returns them in the order of the keys.
    async fn answer(&self, keys: Vec<K>) -> Vec<Result<Timed<Option<R>>, StoreError>> {
        // The row of a lone read needs no map.
        if keys.len() == 1 {
            observe_size(&self.batch_sizes, 1);
            let read = (self.read)(&self.store, &keys).await;
            return vec![read.map(|rows| rows.map(|mut rows| rows.pop()))];
        }
        let distinct = remove_duplicates(keys.clone());
        observe_size(&self.batch_sizes, distinct.len());
        let rows = self.read(&distinct).await;
        let find_row = |key: &K| rows.as_ref().map_err(Clone::clone)?.find(&key.row_key());
        keys.iter().map(find_row).collect()
    }

    async fn read(&self, keys: &[K]) -> Result<RowsByKey<K::RowKey, R>, StoreError> {
        match (self.read)(&self.store, keys).await {
            Ok(read) => Ok(read.map(|rows| self.by_key(rows).collect())),
            Err(error) if error.is_data_error() => Ok(Box::pin(self.read_parts(keys, error)).await),
            Err(error) => Err(error),
        }
    }

    /// Reads the keys of a statement that failed because of its data.
    ///
    /// The keys are read in halves, and those again in halves, until the rows that cause the failure are alone.
    /// Any other error of a part is the error of all its keys.
    async fn read_parts(&self, keys: &[K], error: StoreError) -> RowsByKey<K::RowKey, R> {
        // The parts are read at different times. The result gets the earliest time, because every row was read
        // then or later.
        let mut rows = Timed {
            at: u64::MAX,
            value: HashMap::with_capacity(keys.len()),
        };
        let mut parts = vec![Part {
            keys,
            outcome: Err(error),
        }];
        while !parts.is_empty() {
            let mut halves = Vec::new();
            for Part { keys, outcome } in parts {
                match outcome {
                    Ok(read) => {
                        rows.at = rows.at.min(read.at);
                        rows.value.extend(self.by_key(read.value));
                    }
                    Err(error) => match split_between_rows(keys) {
                        Some(parts) if error.is_data_error() => halves.extend(parts),
                        _ => {
                            let errors = keys.iter().map(|key| (key.row_key(), Err(error.clone())));
                            rows.value.extend(errors);
                        }
                    },
                }
            }
            let read = |keys| async move {
                let outcome = (self.read)(&self.store, keys).await;
                Part { keys, outcome }
            };
            let reads: Vec<_> = halves.into_iter().map(read).collect();
            parts = stream::iter(reads)
                .buffer_unordered(MAX_PARTS_IN_FLIGHT)
                .collect()
                .await;
        }
        rows
    }

    fn by_key(&self, rows: Vec<R>) -> impl Iterator<Item = (K::RowKey, Result<R, StoreError>)> {
        rows.into_iter().map(|row| ((self.key_of)(&row), Ok(row)))
    }
}

#[cfg(test)]
mod tests;
