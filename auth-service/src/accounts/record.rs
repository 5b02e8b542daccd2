//! The record of what happened: read by admins, and by users about themselves; sealed and shortened in the
//! background.

use super::{authorize::Requirement, error::AccountError, service::Accounts, users::end_page};
use crate::store::{AuditFilter, AuditRow, SEAL_INTERVAL, StoreError, UserStore};
use rolegate_proto::{Reason, Role, limits::page_size};
use rolegate_telemetry::{audit_line, log_once::LogOnce, logs::error_chain};
use std::{
    mem,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::watch::Sender,
    time::{Instant, sleep},
};

/// Between two removals of old rows, and between two lines with the last seal.
const HOUR: Duration = Duration::from_hours(1);
const DAY_SECONDS: i64 = 86_400;
/// That a removal takes away at most: a clock that is ahead for a while does not cost the record.
const MAX_REMOVED: i64 = 2 * DAY_SECONDS;

static CANNOT_SEAL: LogOnce<()> = LogOnce::at_most(1, Duration::from_mins(1));

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

impl Accounts {
    /// A page of the record, the newest first, and the `after` of the next page. The actor must be an admin,
    /// or asks only about themselves: then the addresses of others are not shown.
    pub(crate) async fn list_audit(
        &self,
        actor: &str,
        request: AuditRequest,
    ) -> Result<(Vec<AuditRow>, Option<i64>), AccountError> {
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
        // What was answered before this call is in the page, unless the database cannot write.
        if let Err(error) = self.store.seal().await {
            tracing::debug!(
                error = error_chain(&error),
                "cannot seal the record for a reader"
            );
        }
        let user_id = if own { Some(actor) } else { user_id };
        let filter = AuditFilter {
            user_id,
            actor_id,
            event,
            before: after,
            limit: size + 1,
        };
        let mut rows = self.store.audit(&filter).await?;
        let has_next = end_page(&mut rows, size);
        for row in rows
            .iter_mut()
            .filter(|row| own && row.actor_id != Some(actor))
        {
            row.client_address = None;
        }
        let next = rows.last().filter(|_| has_next).map(|row| row.revision);
        Ok((rows, next))
    }

    /// Seals the record and removes rows after this number of days, as long as anybody uses the store.
    pub(crate) fn keep_record(&self, days: u32) {
        let (store, changed) = (Arc::downgrade(&self.store), self.watches.changed.clone());
        tokio::spawn(keep(store, changed, days));
    }
}

async fn keep(store: Weak<dyn UserStore>, changed: Sender<i64>, days: u32) {
    let mut next_removal = Instant::now();
    let mut pause = SEAL_INTERVAL;
    loop {
        sleep(pause).await;
        let Some(store) = store.upgrade() else { return };
        let began = Instant::now();
        let outcome = async {
            let has_more = store.seal().await?;
            // With a quorum, a look that finds nothing costs the standby nothing.
            let newest = store.newest_change().await?;
            changed.send_if_modified(|last| mem::replace(last, newest) != newest);
            if began >= next_removal {
                next_removal = began + HOUR;
                let [_, newest] = store.seals().await?;
                let (revision, digest) = (newest.revision, &*newest.digest);
                audit_line!("audit_sealed", revision, digest);
                let now = i64::try_from(store.users_by_id(&[]).await?.at).unwrap_or_default();
                let oldest = store.oldest_at().await?.unwrap_or(now);
                let before = now - i64::from(days) * DAY_SECONDS;
                while store
                    .prune(before.min(oldest.saturating_add(MAX_REMOVED)))
                    .await?
                {}
            }
            Ok::<_, StoreError>(has_more)
        };
        let outcome = outcome.await;
        // After an import the database has as much time for others.
        pause = if matches!(outcome, Ok(true)) {
            began.elapsed()
        } else {
            SEAL_INTERVAL
        };
        if let Err(error) = outcome
            && CANNOT_SEAL.is_due(())
        {
            let error = error_chain(&error);
            tracing::warn!(
                error,
                "cannot seal the record; changes are recorded even so"
            );
        }
    }
}
