//! Waiting for a state instead of for a time.

use std::{future::Future, time::Duration};

/// Longer than anything takes on an overloaded machine; only a failed test waits this long.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

/// Polls until there is a value.
///
/// # Panics
///
/// After three minutes; `what` says what did not happen.
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

/// Waits for a future.
///
/// # Panics
///
/// After three minutes; `what` says what did not happen.
pub async fn within_bounds<T>(what: &str, done: impl Future<Output = T>) -> T {
    let in_time = tokio::time::timeout(TIMEOUT, done).await;
    in_time.unwrap_or_else(|_| panic!("waited {TIMEOUT:?} for {what}"))
}
