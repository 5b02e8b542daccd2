//! How long a decision waits for a write about its session.

use crate::store::StoreError;
use std::time::Duration;
use tokio::time::timeout;

/// How long a decision waits for the end of an idle session, or until one in a cookie is restricted.
const DECISION_WRITE_TIMEOUT: Duration = Duration::from_millis(300);

/// The answer of the store, unless it takes longer than a decision waits for it.
pub(super) async fn wait_briefly<T>(
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(DECISION_WRITE_TIMEOUT, answer)
        .await
        .unwrap_or(Err(StoreError::TimedOut))
}
