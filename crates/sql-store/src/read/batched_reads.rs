//! Concurrent reads by key share one statement.
//!
//! A row or a key that the database or this program cannot read fails only its own read.
//!
//! By the rule of [`rolegate_batcher`], a read joins only a statement that has not been sent, so its
//! row is never older than the read.

use crate::{StoreError, Timed, metrics};
use rolegate_batcher::{Batcher, Limits, answer_by_key_or_singly};
use rolegate_telemetry::metrics::observe_size;
use std::{hash::Hash, sync::Arc, time::Duration};

const LIMITS: Limits = Limits {
    // Enough for every caller of a busy replica; the database reads that many rows by key in less than
    // a millisecond.
    max_batch_size: 512,
    // Largest batches, which cost the database least for each row.
    max_in_flight: 1,
    stall_timeout: Duration::from_millis(20),
    max_in_flight_stalled: 4,
};

/// Reads of rows `R` by unique keys `K`. Clones share their statements.
#[derive(Clone, Debug)]
pub struct BatchedReads<K, R> {
    batcher: Batcher<K, Result<(u64, Option<R>), StoreError>>,
}

impl<K, R> BatchedReads<K, R>
where
    K: Ord + Hash + Clone + Send + Sync + 'static,
    R: Clone + Send + 'static,
{
    /// `store` and `key` are the labels of the batch-size metric. `read` gets each key once and returns
    /// the rows that exist, in any order; `key_of` returns the key of a row.
    pub fn new<F>(
        store: &str,
        key: &str,
        read: impl Fn(Vec<K>) -> F + Send + Sync + 'static,
        key_of: impl Fn(&R) -> K + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Timed<Vec<R>>, StoreError>> + Send + 'static,
    {
        let (key_of, sizes) = (Arc::new(key_of), metrics::read_batches(store, key));
        let read = Arc::new(move |keys: Vec<K>| {
            observe_size(&sizes, keys.len());
            let (rows, key_of) = (read(keys), Arc::clone(&key_of));
            async move {
                let Timed { at, value } = rows.await?;
                Ok((at, value.into_iter().map(|row| (key_of(&row), row)).collect()))
            }
        });
        let batcher = Batcher::new(LIMITS, move |keys| {
            let read = Arc::clone(&read);
            answer_by_key_or_singly(keys, move |keys| read(keys), StoreError::is_of_data)
        });
        Self { batcher }
    }

    /// The row of this key.
    pub async fn get(&self, key: K) -> Result<Timed<Option<R>>, StoreError> {
        let (at, value) = self.batcher.submit(key).await??;
        Ok(Timed { at, value })
    }
}
