//! Waits for the response of a call while other replicas are up.
//!
//! If a call that changes nothing is late, it is sent once more, to another replica ("The Tail at Scale", Dean and
//! Barroso, 2013). The second copy of the call is a *hedge*. If any other call is slow, only the health of its
//! replica is checked.

use crate::replica_set::Calls;
use std::{
    pin::{Pin, pin},
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    select,
    time::{Instant, timeout},
};
use tonic::Status;

/// The delay of a hedge, as a multiple of the running p99.
const DELAY_FACTOR: u64 = 5;
/// The minimum estimate of the p99, in nanoseconds. For shorter delays, timers are too coarse.
const MIN_P99: u64 = 1_000_000;
/// The maximum delay of a hedge. A call that is not answered for this long is sent once more, however slow the
/// service is. If the call may change something, the health of its replica is checked after this time.
pub(crate) const MAX_DELAY: Duration = Duration::from_millis(500);
/// The maximum estimate of the p99, in nanoseconds. A channel begins with it.
const MAX_P99: u64 = 500_000_000 / DELAY_FACTOR;

/// The number of calls that pay for one hedge, so that hedges add at most 5 % to the calls.
const CALLS_PER_HEDGE: u32 = 20;
/// The budget that a channel begins with, because a replica can freeze before 20 calls have been made.
const INITIAL_BUDGET: u32 = 10 * CALLS_PER_HEDGE;
/// The maximum budget that a channel can save for the moment when many calls are late at once.
const MAX_BUDGET: u32 = 100 * CALLS_PER_HEDGE;

/// Marks a request, in its extensions, that changes nothing and may be sent twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOnly;

/// Decides when the calls of a channel are hedged. Concurrent updates may overwrite each other, which makes the
/// estimate less exact but needs no lock.
#[derive(Debug)]
pub(crate) struct HedgePolicy {
    /// The running 99th percentile of the time that a call takes, in nanoseconds.
    p99: AtomicU64,
    /// The budget in calls. Each call adds one, up to [`MAX_BUDGET`], and a hedge takes [`CALLS_PER_HEDGE`].
    budget: AtomicU32,
}

impl Default for HedgePolicy {
    fn default() -> Self {
        Self {
            p99: AtomicU64::new(MAX_P99),
            budget: AtomicU32::new(INITIAL_BUDGET),
        }
    }
}

impl HedgePolicy {
    /// Waits for the response of a call that changes nothing. If it is late, the monitor of the replica is notified
    /// through `calls`, and the replica is the last choice for calls until it reports its health. If `resend`
    /// returns another call and the budget allows it, the first successful response is used, and the other call is
    /// cancelled.
    pub(crate) async fn hedge<R, F>(
        &self,
        calls: &Calls,
        original: impl Future<Output = Result<R, Status>>,
        resend: impl FnOnce() -> Option<F>,
    ) -> Result<R, Status>
    where
        F: Future<Output = Result<R, Status>>,
    {
        let started = Instant::now();
        let mut original = pin!(original);
        let result = match timeout(self.delay(), &mut original).await {
            Ok(result) => result,
            Err(_elapsed) => {
                calls.missed.notify_one();
                // The budget is spent only if there is another replica.
                match resend().filter(|_| self.try_spend()) {
                    Some(hedge) => first_success(original, hedge).await,
                    None => original.await,
                }
            }
        };
        self.record(started.elapsed());
        result
    }

    /// Returns the time that a call waits for its response before it is sent once more.
    fn delay(&self) -> Duration {
        Duration::from_nanos(self.p99.load(Relaxed) * DELAY_FACTOR)
    }

    /// Records a call that ended, with or without an error. Its duration moves the estimate, and the budget
    /// grows by one call. The estimate moves up 99 times as far as down, so it settles where one call in a
    /// hundred is slower.
    pub(crate) fn record(&self, time_to_end: Duration) {
        let p99 = self.p99.load(Relaxed);
        let is_slower = time_to_end.as_nanos() > u128::from(p99);
        let estimate = if is_slower {
            p99 + p99 / 1024 * 99
        } else {
            p99 - p99 / 1024
        };
        self.p99.store(estimate.clamp(MIN_P99, MAX_P99), Relaxed);
        if self.budget.load(Relaxed) < MAX_BUDGET {
            self.budget.fetch_add(1, Relaxed);
        }
    }

    /// Takes one hedge from the budget. Returns false if the budget is too small.
    pub(crate) fn try_spend(&self) -> bool {
        let spend = |budget: u32| budget.checked_sub(CALLS_PER_HEDGE);
        self.budget.try_update(Relaxed, Relaxed, spend).is_ok()
    }
}

/// Waits for the response of a call that may change something, so it is not sent again. If the response is slow, the
/// monitor of the replica is notified and checks its health. A replica that does not answer this check in time is
/// the last choice for calls until it does.
pub(crate) async fn watch<R>(calls: &Calls, call: impl Future<Output = R>) -> R {
    let mut call = pin!(call);
    match timeout(MAX_DELAY, &mut call).await {
        Ok(result) => result,
        Err(_elapsed) => {
            calls.slow.notify_one();
            call.await
        }
    }
}

/// Waits for the first successful response. If both calls fail, returns the error of the later one.
async fn first_success<R>(
    mut original: Pin<&mut impl Future<Output = Result<R, Status>>>,
    hedge: impl Future<Output = Result<R, Status>>,
) -> Result<R, Status> {
    let mut hedge = pin!(hedge);
    select! {
        result = &mut original => if result.is_ok() { result } else { hedge.await },
        result = &mut hedge => if result.is_ok() { result } else { original.await },
    }
}

#[cfg(test)]
mod tests {
    use super::{CALLS_PER_HEDGE, HedgePolicy, INITIAL_BUDGET, MAX_BUDGET, MAX_DELAY};
    use std::time::Duration;

    #[test]
    fn delay_is_500_ms_until_calls_were_measured_and_follows_five_times_their_p99() {
        let policy = HedgePolicy::default();
        assert_eq!(policy.delay(), MAX_DELAY);
        // One call in 50 takes 8 ms, one in 500 takes 80 ms, the others 2 ms: p99 is 8 ms.
        for call in 0..20_000 {
            let millis = if call % 500 == 7 {
                80
            } else if call % 50 == 3 {
                8
            } else {
                2
            };
            policy.record(Duration::from_millis(millis));
        }
        let delay = policy.delay();
        let expected = Duration::from_millis(35)..Duration::from_millis(60);
        assert!(expected.contains(&delay), "{delay:?}");
        for _ in 0..100_000 {
            policy.record(Duration::from_micros(10));
        }
        assert_eq!(
            policy.delay(),
            Duration::from_millis(5),
            "timers are no finer"
        );
        for _ in 0..100 {
            policy.record(Duration::from_secs(4));
        }
        assert_eq!(policy.delay(), Duration::from_millis(500));
    }

    #[test]
    fn hedges_are_at_most_one_in_20_calls_beyond_the_initial_ones() {
        let policy = HedgePolicy::default();
        let spend_all = || {
            std::iter::repeat_with(|| policy.try_spend())
                .take_while(|ok| *ok)
                .count()
        };
        assert_eq!(spend_all(), 10);
        assert_eq!(INITIAL_BUDGET / CALLS_PER_HEDGE, 10);
        for calls in [0, 19, 20, 1000] {
            (0..calls).for_each(|_| policy.record(Duration::from_millis(1)));
        }
        assert_eq!(spend_all(), 1039 / 20);
        (0..10 * MAX_BUDGET).for_each(|_| policy.record(Duration::from_millis(1)));
        assert_eq!(spend_all(), 100, "a long peace pays for no more than this");
    }
}
