//! Limits how many pages of the record are read at the same time.

use crate::accounts::error::AccountError;
use std::time::Duration;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// Pages that are read at the same time. While the record is locked each waits with a connection, which changes need.
const MAX_PAGE_READS: usize = 2;
/// How long a reader waits for a permit.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);

/// The permits for readers of pages.
pub(in crate::accounts) struct PageReads {
    permits: Semaphore,
}

impl PageReads {
    pub(in crate::accounts) fn new() -> Self {
        Self {
            permits: Semaphore::new(MAX_PAGE_READS),
        }
    }

    pub(super) async fn acquire(&self) -> Result<SemaphorePermit<'_>, AccountError> {
        match timeout(ACQUIRE_TIMEOUT, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(AccountError::overloaded(ACQUIRE_TIMEOUT)),
        }
    }
}
