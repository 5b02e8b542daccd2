//! Parts of statements that enforce the limits on wrong codes. A code is accepted, and a wrong one is counted, only
//! while its limit accepts codes.

use crate::store::second_factor::{CodeLimit, CodePurpose, WRONG_CODES_WINDOW};
use rolegate_sql_store::Statement;

/// The columns in which a limit on wrong codes is stored.
pub(super) struct LimitColumns {
    pub(super) count: &'static str,
    pub(super) since: &'static str,
}

impl LimitColumns {
    pub(super) fn new(limit: CodeLimit) -> Self {
        match limit {
            CodeLimit::OneTime(CodePurpose::SignIn) => Self {
                count: "wrong_codes",
                since: "wrong_since",
            },
            CodeLimit::Recovery(CodePurpose::SignIn) => Self {
                count: "wrong_recovery_codes",
                since: "wrong_recovery_since",
            },
            CodeLimit::OneTime(CodePurpose::Confirmation) => Self {
                count: "wrong_confirmations",
                since: "wrong_confirmations_since",
            },
            CodeLimit::Recovery(CodePurpose::Confirmation) => Self {
                count: "wrong_recovery_confirmations",
                since: "wrong_recovery_confirmations_since",
            },
        }
    }

    /// Continues a statement with the condition that the window of the wrong codes is over at `now`. A window that
    /// began an hour or more after `now` also counts as over, because it comes from a clock that was ahead.
    pub(super) fn push_is_over(&self, statement: Statement) -> Statement {
        statement
            .push("abs(now - ")
            .push(self.since)
            .push(") >= ")
            .push_bind(WRONG_CODES_WINDOW)
    }
}

/// Continues a statement with the condition that codes of this limit are accepted at `now`.
pub(super) fn push_is_accepting(statement: Statement, limit: CodeLimit) -> Statement {
    let columns = LimitColumns::new(limit);
    let is_below = statement
        .push("(")
        .push(columns.count)
        .push(" < ")
        .push_bind(limit.max())
        .push(" OR ");
    columns.push_is_over(is_below).push(")")
}
