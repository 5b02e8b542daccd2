//! The record of what happened, as auth-service returns it.

pub use rolegate_proto::auth_v1::AuditEntry;

/// Selects a page of the record; the default is the newest of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only about this user.
    pub user_id: Option<i64>,
    /// Only by this user.
    pub actor_id: Option<i64>,
    /// Only this event; empty for all.
    pub event: String,
    /// The `next` of the page before.
    pub after: Option<i64>,
    /// 1 to 200; `None` for 50.
    pub limit: Option<u16>,
    /// Only about the bearer, who then need not be an admin.
    pub own: bool,
}

/// A page of the record, the newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPage {
    /// By descending revision.
    pub entries: Vec<AuditEntry>,
    /// The `after` of the next page; `None` on the last page.
    pub next: Option<i64>,
    /// Whether the first page may lack entries that were written before it was asked for.
    pub incomplete: bool,
}
