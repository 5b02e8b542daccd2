//! Coalesces identical checks that run at the same time.
//!
//! Not moka's `try_get_with`: its waiters share the error of the caller that runs the check, such as
//! a passed deadline or a rate limit of another client, and panic after 200 cancelled runners.

use super::CacheKey;
use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::OnceCell;

type Cells = HashMap<CacheKey, Weak<OnceCell<bool>>>;

/// The checks in progress.
#[derive(Default)]
pub(super) struct SingleFlight(Mutex<Cells>);

/// One caller of a check; the last one removes it from the map.
struct Caller<'a> {
    all: &'a SingleFlight,
    key: CacheKey,
    cell: Arc<OnceCell<bool>>,
}

impl SingleFlight {
    /// Runs the check, or waits for the same one. When the caller that runs it fails or is
    /// cancelled, a waiting caller runs its own check.
    pub(super) async fn run<E>(
        &self,
        key: CacheKey,
        check: impl Future<Output = Result<bool, E>>,
    ) -> Result<bool, E> {
        let cell = {
            let mut cells = self.lock();
            cells.get(&key).and_then(Weak::upgrade).unwrap_or_else(|| {
                let cell = Arc::default();
                cells.insert(key, Arc::downgrade(&cell));
                cell
            })
        };
        let caller = Caller { all: self, key, cell };
        caller.cell.get_or_try_init(|| check).await.copied()
    }

    fn lock(&self) -> MutexGuard<'_, Cells> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let mut cells = self.all.lock();
        // Released under the lock, so that the count below is exact.
        drop(mem::take(&mut self.cell));
        if cells.get(&self.key).is_some_and(|cell| cell.strong_count() == 0) {
            cells.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::cache_key::CacheSecret, CacheKey, SingleFlight};
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };
    use tokio::{sync::Semaphore, task::yield_now};

    fn key() -> CacheKey {
        CacheSecret::random().expect("randomness").key("ada", None, "sesame", [192, 0, 2, 1].into())
    }

    #[tokio::test]
    async fn concurrent_checks_run_once_and_survive_a_cancelled_runner() {
        let in_flight = Arc::new(SingleFlight::default());
        let (runs, may_end) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let key = key();
        let start = || {
            let (in_flight, runs, may_end) = (in_flight.clone(), runs.clone(), may_end.clone());
            tokio::spawn(async move {
                let check = async {
                    runs.fetch_add(1, Ordering::SeqCst);
                    may_end.acquire().await.expect("open").forget();
                    Ok::<_, ()>(true)
                };
                in_flight.run(key, check).await
            })
        };
        let callers = [start(), start(), start()];
        for _ in 0..20 {
            yield_now().await;
        }
        callers[0].abort();
        may_end.add_permits(1);
        for caller in callers.into_iter().skip(1) {
            assert_eq!(caller.await.expect("no panic"), Ok(true));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        assert!(in_flight.lock().is_empty());
        may_end.add_permits(1);
        assert_eq!(start().await.expect("no panic"), Ok(true));
        assert_eq!(runs.load(Ordering::SeqCst), 3, "later checks run again");
    }

    #[tokio::test]
    async fn waiters_share_a_wrong_password_but_no_error() {
        let in_flight = SingleFlight::default();
        let key = key();
        let check = |outcome: Result<bool, &'static str>| {
            in_flight.run(key, async move {
                yield_now().await;
                outcome
            })
        };
        let outcomes = tokio::join!(check(Ok(false)), check(Ok(true)));
        assert_eq!(outcomes, (Ok(false), Ok(false)), "one check");
        let outcomes = tokio::join!(check(Err("deadline")), check(Ok(true)));
        assert_eq!(outcomes, (Err("deadline"), Ok(true)), "two checks");
    }
}
