//! Concurrent reads by key share one statement.
//!
//! A row or a key that the database or this program cannot read fails only its own read.
//!
//! By the rule of [`rolegate_batcher`], a read joins only a statement that has not been sent, so its
//! row is never older than the read.

use crate::{StoreError, Timed, metrics::READ_BATCHES};
use futures_util::{StreamExt as _, future::BoxFuture, stream};
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

/// Statements at the same time for the parts of a batch that was spoilt, so that a table full of
/// unreadable rows leaves connections to others.
const MAX_PARTS_IN_FLIGHT: usize = 8;

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
        let (shared, sizes) = (Arc::clone(&reader), READ_BATCHES.with_label_values(&[name, key]));
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
    async fn read(&self, keys: &[K]) -> Result<RowsByKey<K, R>, StoreError> {
        match (self.read)(&self.store, keys).await {
            Ok(Timed { at, value }) => Ok(Timed { at, value: self.by_key(value).collect() }),
            Err(error) if error.is_of_data() => Ok(Box::pin(self.read_parts(keys, error)).await),
            Err(error) => Err(error),
        }
    }

    /// Of keys that spoil their statement the halves are read, down to single keys. Any other error is
    /// that of all keys of its statement.
    async fn read_parts(&self, keys: &[K], error: StoreError) -> RowsByKey<K, R> {
        // The earliest of the times is right for the rows of all parts.
        let mut rows = Timed { at: u64::MAX, value: HashMap::with_capacity(keys.len()) };
        let mut outcomes = vec![(keys, Err(error))];
        while !outcomes.is_empty() {
            let mut parts = Vec::new();
            for (part, outcome) in outcomes {
                match outcome {
                    Ok(Timed { at, value }) => {
                        rows.at = rows.at.min(at);
                        rows.value.extend(self.by_key(value));
                    }
                    Err(error) if error.is_of_data() && part.len() > 1 => {
                        let (first, second) = part.split_at(part.len() / 2);
                        parts.extend([first, second]);
                    }
                    Err(error) => {
                        rows.value.extend(part.iter().map(|key| (key.clone(), Err(error.clone()))));
                    }
                }
            }
            let read = |part| async move { (part, (self.read)(&self.store, part).await) };
            let reads: Vec<_> = parts.into_iter().map(read).collect();
            outcomes = stream::iter(reads).buffer_unordered(MAX_PARTS_IN_FLIGHT).collect().await;
        }
        rows
    }

    fn by_key(&self, rows: Vec<R>) -> impl Iterator<Item = (K, Result<R, StoreError>)> {
        rows.into_iter().map(|row| ((self.key_of)(&row), Ok(row)))
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

    /// The keys 5 and from 1000 on spoil a statement, and the statement of this number fails for a reason
    /// of its own.
    #[derive(Default)]
    struct Store {
        statements: AtomicUsize,
        in_flight: AtomicUsize,
        most_in_flight: AtomicUsize,
        outage: usize,
    }

    type Rows = Result<Timed<Vec<u32>>, StoreError>;

    fn read<'a>(store: &'a Store, keys: &'a [u32]) -> BoxFuture<'a, Rows> {
        Box::pin(async move {
            let number = store.statements.fetch_add(1, Ordering::SeqCst) + 1;
            let in_flight = store.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
            store.most_in_flight.fetch_max(in_flight, Ordering::SeqCst);
            sleep(ROUND_TRIP).await;
            store.in_flight.fetch_sub(1, Ordering::SeqCst);
            if number == store.outage {
                Err(StoreError::TimedOut)
            } else if keys.iter().any(|key| *key == 5 || *key >= 1000) {
                Err(StoreError::Failed(Arc::new(Error::Decode("spoilt".into()))))
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
    async fn outage_fails_the_keys_of_its_statement() {
        let (_, reads) = reads(1);
        let found = reads.get_all((0..64).collect()).await;
        assert!(matches!(found, Err(StoreError::TimedOut)), "{found:?}");
        // The second statement is that of the first half, and the third that of the second.
        let (_, reads) = self::reads(3);
        let found = reads.get_all((0..64).collect()).await.expect("read in part");
        assert_eq!(found.at, 7);
        for key in (0..64).filter(|key| *key != 6) {
            let row = found.value.get(&key).expect("an outcome");
            match key {
                5 => assert!(row.as_ref().is_err_and(StoreError::is_of_data), "{row:?}"),
                32.. => assert!(matches!(row, Err(StoreError::TimedOut)), "{key}: {row:?}"),
                _ => assert_eq!(row.as_ref().ok(), Some(&key)),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn unreadable_rows_leave_connections_to_others() {
        let (store, reads) = reads(0);
        let found = reads.get_all((1000..1256).collect()).await.expect("read");
        assert_eq!(found.value.len(), 256);
        assert!(found.value.values().all(Result::is_err));
        assert_eq!(store.most_in_flight.load(Ordering::SeqCst), super::MAX_PARTS_IN_FLIGHT);
    }
}
