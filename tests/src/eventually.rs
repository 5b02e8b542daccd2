//! Waiting for a state instead of for a time.

use crate::TestResponse;
use std::{future::Future, time::Duration};

/// Longer than anything takes on an overloaded machine; only a failed test waits this long.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(3);

const INTERVAL: Duration = Duration::from_millis(10);

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

/// Repeats a request until the response is neither 503 nor 504: on a busy machine a hash of the real
/// cost may take longer than the deadline of a call.
pub async fn until_served<F: Future<Output = TestResponse>>(
    mut request: impl FnMut() -> F,
) -> TestResponse {
    within_bounds("a response other than 503 and 504", async move {
        loop {
            let response = request().await;
            if ![503, 504].contains(&response.status) {
                return response;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    })
    .await
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
