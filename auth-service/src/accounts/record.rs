//! Reads pages of the record of changes and sign-ins. Admins may read all entries, and other users
//! the entries about themselves.
//!
//! For the first page, a reader waits briefly until the rows committed before the request are
//! sealed. For every page, the reader then waits for one of a few permits. A row that cannot be
//! read is replaced by an entry that reports this.
//!
//! `maintenance` seals the record and removes old rows in the background. `watch` streams the changes
//! of users to other services.

mod maintenance;
pub(super) mod watch;

use super::{
    authorizer::Authorizer, error::AccountError, paging::cut_page, policy::Requirement, username,
};
use crate::{
    audit::{AuditRow, EventGroup},
    store::{AuditFilter, CheckedRow, UnreadableColumn, UserStore},
};
use rolegate_program::{log_limiter::LogLimiter, logs::error_chain};
use rolegate_proto::{Reason, limits::page_size, time::END_OF_9999};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};
use watch::streams::Watches;

/// The maximum number of pages that are read at the same time. While the record is locked, each read
/// occupies a connection that changes need.
const MAX_PAGE_READS: usize = 2;
/// The maximum time that a reader waits until rows committed before the request are sealed.
const READER_SEAL_TIMEOUT: Duration = Duration::from_millis(500);
/// The maximum time that a reader waits for a permit to read a page.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Allows one line an hour about each unreadable row, and at most 10 lines an hour, because many
/// such rows must not fill the log.
static UNREADABLE: LogLimiter<i64> = LogLimiter::silent_when_full(10, Duration::from_hours(1));

/// The event of an entry that replaces an unreadable row.
const UNREADABLE_EVENT: &str = "audit_unreadable";

/// A request for a page of the record.
#[derive(Default)]
pub(crate) struct AuditRequest {
    pub(crate) user_id: Option<i64>,
    pub(crate) actor_id: Option<i64>,
    pub(crate) event: String,
    /// Restricts the page to entries about a user of this name; empty selects all users.
    pub(crate) username: String,
    /// Restricts the page to what a user of this name did; empty selects all actors.
    pub(crate) actor: String,
    /// Restricts the page to a group of events. It cannot be combined with `event`.
    pub(crate) events: Option<EventGroup>,
    /// Whether the request has a group of events that this release does not know.
    pub(crate) has_unknown_events: bool,
    /// Restricts the page to entries from this time on, in Unix seconds.
    pub(crate) since: Option<i64>,
    /// Restricts the page to entries from before this time, in Unix seconds.
    pub(crate) before: Option<i64>,
    /// The `next_after` of the previous page; `None` for the first page.
    pub(crate) after: Option<i64>,
    pub(crate) size: i32,
    /// Restricts the page to entries about the actor.
    pub(crate) own: bool,
}

/// A page of the record, the newest entry first.
pub(crate) struct AuditPage {
    pub(crate) rows: Vec<AuditRow>,
    /// The `after` of the request for the next page; `None` on the last page.
    pub(crate) next_after: Option<i64>,
    /// False if rows that were committed before the request may be missing, because they could not
    /// be sealed in time.
    pub(crate) is_complete: bool,
}

impl AuditRequest {
    /// Returns the size of the page. Fails if the request breaks the contract.
    fn checked_size(&self) -> Result<i64, AccountError> {
        if self.events.is_some() && !self.event.is_empty() {
            return Err(AccountError::invalid_request(
                "event_group cannot be combined with event",
            ));
        }
        if self.has_unknown_events {
            return Err(AccountError::invalid_request("event_group is unknown"));
        }
        username::check_part(&self.username)?;
        username::check_part(&self.actor)?;
        let numbers = [self.user_id, self.actor_id, self.after];
        match page_size(self.size) {
            Some(size) if numbers.into_iter().flatten().all(|number| number > 0) => Ok(size.into()),
            _ => Err(AccountError::invalid_request(
                "page_size must be 0 to 200, ids and after positive",
            )),
        }
    }
}

/// The record of changes and sign-ins: its pages, its maintenance, and the streams of changes.
pub(crate) struct Record {
    store: Arc<UserStore>,
    authorizer: Arc<Authorizer>,
    pub(super) watches: Watches,
    /// The permits for reading pages.
    page_reads: Semaphore,
}

impl Record {
    pub(crate) fn new(store: Arc<UserStore>, authorizer: Arc<Authorizer>) -> Self {
        Self {
            store,
            authorizer,
            watches: Watches::new(),
            page_reads: Semaphore::new(MAX_PAGE_READS),
        }
    }

    /// Reads a page of the record, the newest entry first.
    ///
    /// The actor must be an admin, or request only entries about themselves. In the latter case,
    /// the client address is removed from every entry that the actor did not cause.
    ///
    /// Fails with [`Reason::Overloaded`] if no permit to read a page is free in time.
    pub(crate) async fn list_audit(
        &self,
        credential: &str,
        request: AuditRequest,
    ) -> Result<AuditPage, AccountError> {
        let own = request.own;
        let requirement = if own {
            Requirement::AnyAuthenticated
        } else {
            Requirement::admin()
        };
        let actor_id = self
            .authorizer
            .authorize(credential, &requirement)
            .await?
            .user
            .id;
        let size = request.checked_size()?;
        if own && request.user_id.is_some_and(|id| id != actor_id) {
            return Err(Reason::RoleInsufficient.into());
        }
        // Further pages need not wait for seals, because rows that are sealed later are newer than
        // every row on these pages.
        let is_complete = request.after.is_some() || self.seal_for_reader().await;
        let filter = AuditFilter {
            user_id: if own { Some(actor_id) } else { request.user_id },
            actor_id: request.actor_id,
            event: request.event,
            username: request.username,
            actor: request.actor,
            events: request.events,
            since: request.since,
            before: request.before,
            before_revision: request.after,
            limit: size + 1,
        };
        let acquired = timeout(PERMIT_TIMEOUT, self.page_reads.acquire()).await;
        let Ok(Ok(permit)) = acquired else {
            return Err(AccountError::overloaded(PERMIT_TIMEOUT));
        };
        let mut checked = self.store.audit(&filter).await?;
        drop(permit);
        let next_after = cut_page(&mut checked, filter.limit, |row| row.revision);
        let mut rows: Vec<AuditRow> = checked.into_iter().map(present).collect();
        if own {
            hide_addresses_of_others(&mut rows, actor_id);
        }
        Ok(AuditPage {
            rows,
            next_after,
            is_complete,
        })
    }

    /// Seals the rows that were committed before this call. Returns true if all of them are sealed
    /// now, and false if that failed or took too long.
    async fn seal_for_reader(&self) -> bool {
        match timeout(READER_SEAL_TIMEOUT, self.store.seal_all()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::debug!(
                    error = error_chain(&error),
                    "cannot seal the record for a reader"
                );
                false
            }
            Err(_too_slow) => false,
        }
    }
}

fn hide_addresses_of_others(rows: &mut [AuditRow], actor_id: i64) {
    for row in rows {
        if row.actor_id != Some(actor_id) {
            row.client_address = None;
        }
    }
}

/// Converts a stored row to the row that clients see.
///
/// A row that cannot be read is logged and replaced by an entry that reports this. It must not hide
/// the other rows of the page, but without an entry for it, the page would look complete.
fn present(checked: CheckedRow) -> AuditRow {
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

/// Logs that the row with this revision cannot be read, unless `UNREADABLE` suppresses the line.
pub(super) fn warn_unreadable(revision: i64, problem: &UnreadableColumn) {
    if UNREADABLE.claim(revision) {
        let problem = problem.to_string();
        tracing::warn!(
            revision,
            problem,
            "a row of the record cannot be read; run audit verify"
        );
    }
}
