//! Concurrent look-ups by key share one statement.
//!
//! Fresh by the rule of [`rolegate_batcher`]: a look-up joins only a statement that has not been sent,
//! so what it returns was read after it was asked for.

use crate::{StoreError, metrics};
use rolegate_batcher::{Batcher, Limits};
use rolegate_telemetry::metrics::observe_size;
use std::{collections::HashMap, hash::Hash, num::NonZero, sync::Arc, time::Duration};
use tracing::{Instrument as _, Span, info_span};

/// Enough for every caller of a busy replica; the database reads that many rows by key in less than
/// a millisecond.
const BATCH: NonZero<usize> = NonZero::new(512).expect("not zero");
/// One statement under way makes the largest batches, which cost the database least for each row.
const IN_FLIGHT: NonZero<usize> = NonZero::new(1).expect("not zero");
/// A statement that takes this long holds the others up no longer.
const PATIENCE: Duration = Duration::from_millis(20);
const MOST_IN_FLIGHT: NonZero<usize> = NonZero::new(4).expect("not zero");

/// Look-ups of rows `R` by unique keys `K`. Clones share their statements.
#[derive(Clone, Debug)]
pub struct BatchedReads<K, R> {
    shared: Batcher<Asked<K>, Result<Option<R>, StoreError>>,
}

/// A key, and the span of whoever asks for it.
type Asked<K> = (K, Span);

impl<K, R> BatchedReads<K, R>
where
    K: Ord + Hash + Clone + Send + Sync + 'static,
    R: Clone + Send + 'static,
{
    /// Look-ups in the store of this name by what metrics call `key`. `read` returns the rows of the
    /// keys that there are, in any order, and is never asked for one key twice; `key_of` tells whose a
    /// row is.
    pub fn new<F>(
        store: &str,
        key: &str,
        read: impl Fn(Vec<K>) -> F + Send + Sync + 'static,
        key_of: impl Fn(&R) -> K + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<R>, StoreError>> + Send + 'static,
    {
        let limits = Limits {
            batch: BATCH,
            in_flight: IN_FLIGHT,
            patience: PATIENCE,
            most_in_flight: MOST_IN_FLIGHT,
        };
        let (key_of, sizes) = (Arc::new(key_of), metrics::read_batches(store, key));
        let shared = Batcher::new(limits, move |asked: Vec<Asked<K>>| {
            let (keys, span) = unzip(asked);
            let wanted = distinct(&keys);
            observe_size(&sizes, wanted.len());
            let (found, key_of) = (read(wanted), Arc::clone(&key_of));
            async move { in_order(&keys, found.instrument(span).await, &*key_of) }
        });
        Self { shared }
    }

    /// The row of this key.
    pub async fn get(&self, key: K) -> Result<Option<R>, StoreError> {
        self.shared.submit((key, Span::current())).await?
    }
}

/// The keys, and the span of the statement for them. One statement has one place in one trace: it
/// belongs to the first who is traced, and is linked to the others.
fn unzip<K>(asked: Vec<Asked<K>>) -> (Vec<K>, Span) {
    let (keys, spans): (Vec<K>, Vec<Span>) = asked.into_iter().unzip();
    let mut traced = spans.iter().filter(|span| !span.is_none());
    let Some(first) = traced.next() else { return (keys, Span::none()) };
    if keys.len() == 1 {
        return (keys, first.clone());
    }
    let size = keys.len();
    let span = info_span!(parent: first, "shared look-ups", otel.kind = "internal", size);
    for other in traced {
        span.follows_from(other);
    }
    (keys, span)
}

/// Many callers may ask for the same row; the database is asked once.
fn distinct<K: Ord + Clone>(keys: &[K]) -> Vec<K> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// An answer for each key, in the order of the keys.
fn in_order<K: Eq + Hash + Clone, R: Clone>(
    keys: &[K],
    found: Result<Vec<R>, StoreError>,
    key_of: impl Fn(&R) -> K,
) -> Vec<Result<Option<R>, StoreError>> {
    match found {
        Ok(rows) => {
            let rows: HashMap<K, R> = rows.into_iter().map(|row| (key_of(&row), row)).collect();
            keys.iter().map(|key| Ok(rows.get(key).cloned())).collect()
        }
        Err(error) => vec![Err(error); keys.len()],
    }
}
