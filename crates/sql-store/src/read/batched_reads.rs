//! Concurrent reads by key share one statement.
//!
//! A row or a key that the database or this program cannot read fails only its own read.
//!
//! By the rule of [`rolegate_batcher`], a read joins only a statement that has not been sent, so its
//! row is never older than the read.

use super::reads::Timed;
use crate::{StoreError, metrics};
use futures_util::future::{BoxFuture, try_join};
use rolegate_batcher::{Batcher, Limits};
use rolegate_telemetry::metrics::observe_size;
use std::{collections::HashMap, fmt, hash::Hash, sync::Arc, time::Duration};

const LIMITS: Limits = Limits {
    // Enough for every caller of a busy replica; the database reads that many rows by key in less than
    // a millisecond.
    max_batch_size: 512,
    // Largest batches, which cost the database least for each row.
    max_in_flight: 1,
    stall_timeout: Duration::from_millis(20),
    max_in_flight_stalled: 4,
};

/// Reads of rows `R` of a store `S` by unique keys `K`. Clones share their statements.
pub struct BatchedReads<S: ?Sized, K, R> {
    batcher: Batcher<K, Result<Timed<Option<R>>, StoreError>>,
    reader: Arc<Reader<S, K, R>>,
}

/// Returns the rows that exist, in any order; gets each key once.
pub type ReadByKeys<S, K, R> =
    for<'a> fn(&'a S, &'a [K]) -> BoxFuture<'a, Result<Timed<Vec<R>>, StoreError>>;

struct Reader<S: ?Sized, K, R> {
    store: Arc<S>,
    read: ReadByKeys<S, K, R>,
    key_of: fn(&R) -> K,
}

/// The rows by key, and their time; an error for a key that cannot be read.
pub type RowsByKey<K, R> = Timed<HashMap<K, Result<R, StoreError>>>;

impl<S, K, R> BatchedReads<S, K, R>
where
    S: ?Sized + Send + Sync + 'static,
    K: Ord + Hash + Clone + Send + Sync + 'static,
    R: Clone + Send + 'static,
{
    /// `name` and `key` are the labels of the batch-size metric; `key_of` returns the key of a row.
    pub fn new(
        (name, key): (&str, &str),
        store: &Arc<S>,
        read: ReadByKeys<S, K, R>,
        key_of: fn(&R) -> K,
    ) -> Self {
        let reader = Arc::new(Reader { store: Arc::clone(store), read, key_of });
        let (shared, sizes) = (Arc::clone(&reader), metrics::read_batches(name, key));
        let batcher = Batcher::new(LIMITS, move |keys: Vec<K>| {
            let (reader, distinct) = (Arc::clone(&shared), distinct(keys.clone()));
            observe_size(&sizes, distinct.len());
            async move {
                let rows = reader.read(&distinct).await;
                keys.iter().map(|key| row(rows.as_ref(), key)).collect()
            }
        });
        Self { batcher, reader }
    }

    /// The row of this key.
    pub async fn get(&self, key: K) -> Result<Timed<Option<R>>, StoreError> {
        self.batcher.submit(key).await?
    }

    /// The rows of many keys, with a statement of their own.
    pub async fn get_all(&self, keys: Vec<K>) -> Result<RowsByKey<K, R>, StoreError> {
        if keys.is_empty() {
            return Ok(Timed { at: 0, value: HashMap::new() });
        }
        self.reader.read(&distinct(keys)).await
    }
}

fn distinct<K: Ord>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn row<K: Eq + Hash, R: Clone>(
    rows: Result<&RowsByKey<K, R>, &StoreError>,
    key: &K,
) -> Result<Timed<Option<R>>, StoreError> {
    let Timed { at, value } = rows.map_err(Clone::clone)?;
    Ok(Timed { at: *at, value: value.get(key).cloned().transpose()? })
}

impl<S, K, R> Reader<S, K, R>
where
    S: ?Sized + Send + Sync,
    K: Eq + Hash + Clone + Send + Sync,
    R: Send,
{
    /// Of keys that spoil their statement the halves are read, at the same time, down to single keys. Any
    /// other error is that of all.
    fn read<'a>(&'a self, keys: &'a [K]) -> BoxFuture<'a, Result<RowsByKey<K, R>, StoreError>> {
        Box::pin(async move {
            match (self.read)(&self.store, keys).await {
                Ok(Timed { at, value }) => {
                    let rows = value.into_iter().map(|row| ((self.key_of)(&row), Ok(row)));
                    Ok(Timed { at, value: rows.collect() })
                }
                Err(error) if !error.is_of_data() => Err(error),
                Err(error) if let [key] = keys => {
                    Ok(Timed { at: u64::MAX, value: HashMap::from([(key.clone(), Err(error))]) })
                }
                Err(_) => {
                    let (first, second) = keys.split_at(keys.len() / 2);
                    let (mut rows, others) = try_join(self.read(first), self.read(second)).await?;
                    rows.value.extend(others.value);
                    // The earlier of the times is right for the rows of both.
                    Ok(Timed { at: rows.at.min(others.at), value: rows.value })
                }
            }
        })
    }
}

impl<S: ?Sized, K, R> Clone for BatchedReads<S, K, R> {
    fn clone(&self) -> Self {
        Self { batcher: self.batcher.clone(), reader: Arc::clone(&self.reader) }
    }
}

impl<S: ?Sized, K, R> fmt::Debug for BatchedReads<S, K, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BatchedReads").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{BatchedReads, Timed};
    use crate::StoreError;
    use futures_util::future::BoxFuture;
    use sqlx::Error;
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };
    use tokio::time::{Instant, sleep};

    const ROUND_TRIP: Duration = Duration::from_millis(1);

    /// The key 5 spoils a statement, and the statement of this number fails for a reason of its own.
    #[derive(Default)]
    struct Store {
        statements: AtomicUsize,
        outage: usize,
    }

    type Rows = Result<Timed<Vec<u32>>, StoreError>;

    fn read<'a>(store: &'a Store, keys: &'a [u32]) -> BoxFuture<'a, Rows> {
        Box::pin(async move {
            let number = store.statements.fetch_add(1, Ordering::SeqCst) + 1;
            sleep(ROUND_TRIP).await;
            if number == store.outage {
                Err(StoreError::TimedOut)
            } else if keys.contains(&5) {
                Err(StoreError::Failed(Arc::new(Error::Decode("key 5".into()))))
            } else {
                Ok(Timed { at: 7, value: keys.iter().copied().filter(|key| *key != 6).collect() })
            }
        })
    }

    fn reads(outage: usize) -> (Arc<Store>, BatchedReads<Store, u32, u32>) {
        let store = Arc::new(Store { outage, ..Store::default() });
        let reads = BatchedReads::new(("test", "key"), &store, read, |row| *row);
        (store, reads)
    }

    #[tokio::test(start_paused = true)]
    async fn key_that_spoils_a_statement_fails_alone_and_delays_the_others_by_few_round_trips() {
        let (store, reads) = reads(0);
        let began = Instant::now();
        let found = reads.get_all((0..256).chain([5, 7]).collect()).await.expect("read");
        assert_eq!((found.at, found.value.len()), (7, 255));
        for key in 0..256 {
            let row = found.value.get(&key).map(|row| row.as_ref().ok().copied());
            let expected = if key == 6 { None } else { Some((key != 5).then_some(key)) };
            assert_eq!(row, expected, "{key}");
        }
        assert!(began.elapsed() < 12 * ROUND_TRIP, "{:?}", began.elapsed());
        assert_eq!(store.statements.load(Ordering::SeqCst), 17);
        let (spoilt, unknown, other) = tokio::join!(reads.get(5), reads.get(6), reads.get(8));
        assert!(spoilt.is_err_and(|error| error.is_of_data()));
        assert_eq!(unknown.expect("read"), Timed { at: 7, value: None });
        assert_eq!(other.expect("read"), Timed { at: 7, value: Some(8) });
    }

    #[tokio::test(start_paused = true)]
    async fn outage_fails_all() {
        for outage in [1, 3] {
            let (_, reads) = reads(outage);
            let found = reads.get_all((0..64).collect()).await;
            assert!(matches!(found, Err(StoreError::TimedOut)), "{found:?}");
        }
    }
}
