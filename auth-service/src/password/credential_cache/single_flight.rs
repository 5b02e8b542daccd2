//! Identical checks that run at the same time are one.

use super::CacheKey;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::OnceCell;

type Cells = HashMap<CacheKey, Weak<OnceCell<bool>>>;

/// The checks under way.
#[derive(Default)]
pub(super) struct SingleFlight(Mutex<Cells>);

/// A caller's part in a check; the last one to leave tidies up.
struct Part<'a> {
    all: &'a SingleFlight,
    cache_key: CacheKey,
    cell: Option<Arc<OnceCell<bool>>>,
}

impl SingleFlight {
    /// Runs the check, or waits for the same one. When its runner leaves or fails, one of those who
    /// wait runs its own.
    pub(super) async fn single_flight<E>(
        &self,
        cache_key: CacheKey,
        check: impl Future<Output = Result<bool, E>>,
    ) -> Result<bool, E> {
        let cell = {
            let mut cells = self.lock();
            let known = cells.get(&cache_key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let cell = Arc::new(OnceCell::new());
                cells.insert(cache_key, Arc::downgrade(&cell));
                cell
            })
        };
        let part = Part { all: self, cache_key, cell: Some(cell) };
        match &part.cell {
            Some(cell) => cell.get_or_try_init(|| check).await.copied(),
            None => check.await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Cells> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut cells = self.all.lock();
        self.cell = None;
        if cells.get(&self.cache_key).is_some_and(|cell| cell.strong_count() == 0) {
            cells.remove(&self.cache_key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::cache_key::CacheSecret, CacheKey, SingleFlight};
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering},
        },
    };
    use tokio::{sync::Semaphore, task::yield_now};

    fn cache_key() -> CacheKey {
        CacheSecret::random().expect("randomness").cache_key("ada", None, "sesame")
    }

    #[tokio::test]
    async fn identical_checks_at_the_same_time_are_one_and_later_ones_are_not() {
        let in_flight = Arc::new(SingleFlight::default());
        let (runs, may_end) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let cache_key = cache_key();
        let start = || {
            let (in_flight, runs, may_end) = (in_flight.clone(), runs.clone(), may_end.clone());
            tokio::spawn(async move {
                let check = async {
                    runs.fetch_add(1, Ordering::SeqCst);
                    may_end.acquire().await.expect("open").forget();
                    Ok::<_, Infallible>(true)
                };
                in_flight.single_flight(cache_key, check).await
            })
        };
        let callers = [start(), start(), start()];
        for _ in 0..20 {
            yield_now().await;
        }
        // The runner leaves: another one takes over.
        callers[0].abort();
        may_end.add_permits(1);
        for caller in callers.into_iter().skip(1) {
            assert_eq!(caller.await.expect("no panic"), Ok(true));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        assert!(in_flight.lock().is_empty());
        may_end.add_permits(1);
        assert_eq!(start().await.expect("no panic"), Ok(true));
        assert_eq!(runs.load(Ordering::SeqCst), 3);
    }
}
