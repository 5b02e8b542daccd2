//! Seals the record, removes old rows, announces new changes to the streams and writes the search keys of users, in the
//! background.

use super::Record;
use crate::{
    metrics,
    store::{SEAL_INTERVAL, StoreError, UserStore},
};
use rolegate_program::{audit_line, log_limiter::LogLimiter, logs::error_chain};
use std::{
    mem,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::watch::Sender,
    time::{Instant, sleep},
};

/// The interval at which the last seal is written to the log.
const SEAL_LINE_INTERVAL: Duration = Duration::from_hours(1);
/// The interval at which old rows are removed.
const CLEANING_INTERVAL: Duration = Duration::from_mins(1);

static SEAL_WARNING: LogLimiter<()> = LogLimiter::silent_when_full(1, Duration::from_mins(1));
static REMOVAL_WARNING: LogLimiter<()> = LogLimiter::silent_when_full(1, Duration::from_mins(1));
static ADDITIONS_WARNING: LogLimiter<()> = LogLimiter::silent_when_full(1, Duration::from_mins(1));

impl Record {
    /// Starts the task that seals the record, announces new changes to the streams, writes search keys, and removes rows
    /// that are older than this number of days. The task stops when the store has been dropped.
    pub(crate) fn start_maintenance(&self, retention_days: u32) {
        let store = Arc::downgrade(&self.store);
        let newest_change = self.watches.newest_change.clone();
        tokio::spawn(maintain(store, newest_change, retention_days));
    }
}

async fn maintain(store: Weak<UserStore>, newest_change: Sender<i64>, retention_days: u32) {
    let mut next_line = Instant::now();
    let mut next_cleaning = Instant::now();
    let mut writes_search_keys = true;
    let mut pause = SEAL_INTERVAL;
    loop {
        sleep(pause).await;
        let Some(store) = store.upgrade() else { return };
        let began = Instant::now();
        let sealed = seal_and_announce(&store, &newest_change).await;
        // If more rows wait, for example after an import, the task pauses for as long as it has
        // worked, so that requests can use the database.
        pause = if matches!(sealed, Ok(true)) {
            began.elapsed()
        } else {
            SEAL_INTERVAL
        };
        report_unsealed(&store, &sealed).await;
        if sealed.is_ok() && began >= next_line && log_seal(&store).await.is_ok() {
            next_line = began + SEAL_LINE_INTERVAL;
        }
        if began >= next_cleaning {
            next_cleaning = began + CLEANING_INTERVAL;
            clean(&store, retention_days).await;
            writes_search_keys = true;
        }
        if writes_search_keys {
            writes_search_keys = write_search_keys(&store).await;
        }
    }
}

/// Seals a batch, and announces the newest change to the streams. Returns true if there may be more
/// rows to seal.
async fn seal_and_announce(
    store: &UserStore,
    newest_change: &Sender<i64>,
) -> Result<bool, StoreError> {
    let has_more = store.seal().await?;
    // The streams take this revision only as a hint to read the record. It may be outdated, because
    // even with `DATABASE_READS=quorum`, a read that finds nothing does not wait for the standby.
    let newest = store.newest_change().await?;
    newest_change.send_if_modified(|last| mem::replace(last, newest) != newest);
    Ok(has_more)
}

/// Sets the metric for the age of the oldest unsealed row. If sealing failed, logs a warning, at
/// most once a minute.
async fn report_unsealed(store: &UserStore, sealed: &Result<bool, StoreError>) {
    if matches!(sealed, Ok(false)) {
        return metrics::set_oldest_unsealed(None);
    }
    match store.oldest_unsealed().await {
        Ok(oldest) => metrics::set_oldest_unsealed(oldest),
        Err(_) => metrics::set_oldest_unsealed_unknown(),
    }
    if let Err(error) = sealed
        && SEAL_WARNING.claim(())
    {
        tracing::warn!(
            error = error_chain(error),
            oldest_unsealed_seconds = metrics::oldest_unsealed_seconds(),
            "cannot seal the record; changes are recorded even so"
        );
    }
}

/// Writes the newest seal to the log, where a person with access only to the database cannot change
/// it.
async fn log_seal(store: &UserStore) -> Result<(), StoreError> {
    let newest = store.seals().await?.newest;
    let revision = newest.revision;
    let digest = &*newest.digest;
    audit_line!("audit_sealed", revision, digest);
    Ok(())
}

/// Writes search keys of users who have none, in steps between which the record is sealed. Returns whether there is
/// another step to do now.
async fn write_search_keys(store: &UserStore) -> bool {
    match store.write_search_keys().await {
        Ok(all_have_keys) => !all_have_keys,
        Err(error) => {
            // The store itself logs that it cannot write, and a list that needs the keys fails.
            tracing::debug!(
                error = error_chain(&error),
                "cannot write the search keys of users"
            );
            false
        }
    }
}

/// Deletes additions that no longer count towards the limit of additions, and removes old rows of
/// the record. Rows are removed even if the deletion fails. A failure is only logged.
async fn clean(store: &UserStore, retention_days: u32) {
    if let Err(error) = store.forget_additions().await
        && ADDITIONS_WARNING.claim(())
    {
        tracing::warn!(
            error = error_chain(&error),
            "cannot delete additions that no longer count"
        );
    }
    if let Err(error) = store.remove_old_rows(retention_days).await
        && REMOVAL_WARNING.claim(())
    {
        tracing::warn!(
            error = error_chain(&error),
            "cannot remove old rows of the record"
        );
    }
}
