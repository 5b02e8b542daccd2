//! Waiting for a state instead of for a time.

use std::{future::Future, time::Duration};

/// Longer than anything takes on a loaded machine; only a failed test waits this long.
const BOUND: Duration = Duration::from_mins(1);

/// Asks again and again until the answer is something.
///
/// # Panics
///
/// When it has not become so within the bound; `what` says what was waited for.
#[track_caller]
pub fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> impl Future<Output = T> {
    within_bounds(what, async move {
        loop {
            if let Some(response) = ask().await {
                return response;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
}

/// Waits for something that tells when it is done.
///
/// # Panics
///
/// When it has not become so within the bound; `what` says what was waited for.
pub async fn within_bounds<T>(what: &str, done: impl Future<Output = T>) -> T {
    let timely = tokio::time::timeout(BOUND, done).await;
    timely.unwrap_or_else(|_| panic!("waited {BOUND:?} for {what}"))
}
