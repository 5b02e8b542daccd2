//! Waits for a state instead of for a time, so that tests are neither slow nor flaky.

use std::{future::Future, time::Duration};

/// How long tests wait: longer than anything takes on an overloaded machine. Only a failed test
/// waits this long.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

/// Polls until there is a value.
///
/// # Panics
///
/// Panics after three minutes, with `what` as the thing that did not happen.
#[track_caller]
pub fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut poll: impl FnMut() -> F,
) -> impl Future<Output = T> {
    within_bounds(what, async move {
        loop {
            if let Some(value) = poll().await {
                return value;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    })
}

/// Waits until a future is done.
///
/// # Panics
///
/// Panics after three minutes, with `what` as the thing that did not happen.
pub async fn within_bounds<T>(what: &str, done: impl Future<Output = T>) -> T {
    let in_time = tokio::time::timeout(TIMEOUT, done).await;
    in_time.unwrap_or_else(|_| panic!("waited {TIMEOUT:?} for {what}"))
}
