//! The record of what happened: read by admins, and by users about themselves; sealed and shortened in the
//! background.

use super::{authorize::Requirement, error::AccountError, service::Accounts, users::end_page};
use crate::metrics;
use crate::store::{
    AuditFilter, AuditRow, CheckedRow, END_OF_9999, SEAL_INTERVAL, StoreError, UnreadableColumn,
    UserStore,
};
use rolegate_proto::{Reason, Role, limits::page_size};
use rolegate_telemetry::{audit_line, log_once::LogOnce, logs::error_chain};
use serde_json::json;
use std::{
    mem,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, watch::Sender},
    time::{Instant, sleep, timeout},
};

/// The time between two lines with the last seal.
const SEAL_LINE_INTERVAL: Duration = Duration::from_hours(1);
/// The time between two looks for what is old.
const CLEANING_INTERVAL: Duration = Duration::from_mins(1);
/// How long a reader waits for rows to be sealed that were committed before.
const READER_SEAL_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a reader waits for one of the places below.
const READER_TIMEOUT: Duration = Duration::from_secs(2);
/// Pages that are read at the same time. While the record is locked each waits with a connection, which changes need.
const MAX_PAGE_READS: usize = 2;

static CANNOT_SEAL: LogOnce<()> = LogOnce::at_most(1, Duration::from_mins(1));
static CANNOT_REMOVE: LogOnce<()> = LogOnce::at_most(1, Duration::from_mins(1));
static CANNOT_FORGET: LogOnce<()> = LogOnce::at_most(1, Duration::from_mins(1));

/// Rows that cannot be read, by their revisions. Many of them must not fill the log.
static UNREADABLE: LogOnce<i64> = LogOnce::at_most(10, Duration::from_hours(1));

/// The event of an entry in place of a row that cannot be read.
const UNREADABLE_EVENT: &str = "audit_unreadable";

/// A page of the record, as it was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuditRequest {
    pub(crate) user_id: Option<i64>,
    pub(crate) actor_id: Option<i64>,
    pub(crate) event: String,
    pub(crate) after: Option<i64>,
    pub(crate) size: i32,
    /// Only about the actor.
    pub(crate) own: bool,
}

/// A page of the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuditPage {
    pub(crate) rows: Vec<AuditRow>,
    /// The `after` of the next page.
    pub(crate) next_after: Option<i64>,
    /// Whether the page has every row that was committed before it was asked for.
    pub(crate) is_complete: bool,
}

/// The row for clients. One that cannot be read is an entry that says so: it must not hide the others of its page, and a
/// page without it would look complete.
fn presentable(checked: CheckedRow) -> AuditRow {
    let revision = checked.revision;
    let at = checked.at.filter(|at| (0..=END_OF_9999).contains(at));
    match checked.into_presentable() {
        Ok(row) => row,
        Err(problem) => {
            warn_unreadable(revision, &problem);
            AuditRow {
                revision,
                at: at.unwrap_or_default(),
                event: UNREADABLE_EVENT.to_owned(),
                details: json!({ "column": problem.column }).to_string(),
                ..AuditRow::default()
            }
        }
    }
}

/// Names a row that cannot be read in the log.
pub(super) fn warn_unreadable(revision: i64, problem: &UnreadableColumn) {
    if UNREADABLE.is_due(revision) {
        let problem = problem.to_string();
        tracing::warn!(
            revision,
            problem,
            "a row of the record cannot be read; run audit verify"
        );
    }
}

/// The places for readers of pages.
pub(super) fn page_reads() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MAX_PAGE_READS))
}

impl Accounts {
    /// A page of the record, the newest first. The actor must be an admin,
    /// or asks only about themselves: then the addresses of others are not shown.
    pub(crate) async fn list_audit(
        &self,
        actor: &str,
        request: AuditRequest,
    ) -> Result<AuditPage, AccountError> {
        let admins = Requirement::Roles(vec![Role::ADMIN]);
        let required = if request.own {
            Requirement::AnyAuthenticated
        } else {
            admins
        };
        let actor = self.authorize(actor, &required).await?.user.id;
        let AuditRequest {
            user_id,
            actor_id,
            event,
            after,
            size,
            own,
        } = request;
        let invalid = AccountError::request("page_size must be 0 to 200, ids and after positive");
        let ids = [user_id, actor_id, after];
        let size = page_size(size).filter(|_| ids.into_iter().flatten().all(|id| id > 0));
        let size = i64::from(size.ok_or(invalid)?);
        if own && user_id.is_some_and(|id| id != actor) {
            return Err(Reason::RoleInsufficient.into());
        }
        // Rows that are sealed from now on come before the page that was read last.
        let is_complete = after.is_some() || self.seal_for_reader().await;
        let user_id = if own { Some(actor) } else { user_id };
        let filter = AuditFilter {
            user_id,
            actor_id,
            event,
            before: after,
            limit: size + 1,
        };
        let mut rows = self.read_page(&filter).await?;
        let has_next = end_page(&mut rows, size);
        let mut rows: Vec<AuditRow> = rows.into_iter().map(presentable).collect();
        for row in rows
            .iter_mut()
            .filter(|row| own && row.actor_id != Some(actor))
        {
            row.client_address = None;
        }
        let next_after = rows.last().filter(|_| has_next).map(|row| row.revision);
        Ok(AuditPage {
            rows,
            next_after,
            is_complete,
        })
    }

    /// Seals what was committed before this call; whether the record has all of it.
    async fn seal_for_reader(&self) -> bool {
        match timeout(READER_SEAL_TIMEOUT, self.store.seal_all()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                let error = error_chain(&error);
                tracing::debug!(error, "cannot seal the record for a reader");
                false
            }
            Err(_too_slow) => false,
        }
    }

    /// Reads rows while others do not take all connections for it.
    async fn read_page(&self, filter: &AuditFilter) -> Result<Vec<CheckedRow>, AccountError> {
        let place = timeout(READER_TIMEOUT, self.page_reads.acquire());
        let Ok(Ok(_place)) = place.await else {
            return Err(AccountError::overloaded(READER_TIMEOUT));
        };
        Ok(self.store.audit(filter).await?)
    }

    /// Seals the record and removes rows after this number of days, as long as anybody uses the store.
    pub(crate) fn keep_record(&self, days: u32) {
        let (store, changed) = (Arc::downgrade(&self.store), self.watches.changed.clone());
        tokio::spawn(keep(store, changed, days));
    }
}

async fn keep(store: Weak<dyn UserStore>, changed: Sender<i64>, days: u32) {
    let mut next_line = Instant::now();
    let mut next_cleaning = Instant::now();
    let mut pause = SEAL_INTERVAL;
    loop {
        sleep(pause).await;
        let Some(store) = store.upgrade() else { return };
        let began = Instant::now();
        let sealed = seal_and_announce(&*store, &changed).await;
        // After an import the database has as much time for others.
        pause = if matches!(sealed, Ok(true)) {
            began.elapsed()
        } else {
            SEAL_INTERVAL
        };
        report_unsealed(&*store, &sealed).await;
        if sealed.is_ok() && began >= next_line && log_seal(&*store).await.is_ok() {
            next_line = began + SEAL_LINE_INTERVAL;
        }
        if began >= next_cleaning {
            next_cleaning = began + CLEANING_INTERVAL;
            clean(&*store, days).await;
        }
    }
}

/// Forgets and removes what is old. Neither waits for the other to succeed, nor for a record that cannot be sealed.
async fn clean(store: &dyn UserStore, days: u32) {
    if let Err(error) = store.forget_additions().await
        && CANNOT_FORGET.is_due(())
    {
        let error = error_chain(&error);
        tracing::warn!(error, "cannot forget additions that do not count any more");
    }
    if let Err(error) = store.remove_old_rows(days).await
        && CANNOT_REMOVE.is_due(())
    {
        let error = error_chain(&error);
        tracing::warn!(error, "cannot remove old rows of the record");
    }
}

/// Seals a batch and tells the streams of changes; whether there may be more rows.
async fn seal_and_announce(
    store: &dyn UserStore,
    changed: &Sender<i64>,
) -> Result<bool, StoreError> {
    let has_more = store.seal().await?;
    // With a quorum, a look that finds nothing costs the standby nothing.
    let newest = store.newest_change().await?;
    changed.send_if_modified(|last| mem::replace(last, newest) != newest);
    Ok(has_more)
}

/// Shows operators how long the oldest row waits that is not sealed.
async fn report_unsealed(store: &dyn UserStore, sealed: &Result<bool, StoreError>) {
    if matches!(sealed, Ok(false)) {
        return metrics::set_oldest_unsealed(None);
    }
    match store.oldest_unsealed().await {
        Ok(oldest) => metrics::set_oldest_unsealed(oldest),
        Err(_) => metrics::set_oldest_unsealed_unknown(),
    }
    if let Err(error) = sealed
        && CANNOT_SEAL.is_due(())
    {
        tracing::warn!(
            error = error_chain(error),
            oldest_unsealed_seconds = metrics::oldest_unsealed_seconds(),
            "cannot seal the record; changes are recorded even so"
        );
    }
}

/// Writes the newest seal to the log, where nobody with access to the database can change it.
async fn log_seal(store: &dyn UserStore) -> Result<(), StoreError> {
    let newest = store.seals().await?.newest;
    let revision = newest.revision;
    let digest = &*newest.digest;
    audit_line!("audit_sealed", revision, digest);
    Ok(())
}
