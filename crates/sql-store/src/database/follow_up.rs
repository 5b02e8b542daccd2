//! Statements that depend on the rows of a write and share its transaction.

use crate::{
    row::{Rows, TableRow},
    statement::Statement,
};
use std::sync::Arc;

/// The statements that follow a write in its transaction, if it returns rows. They are made anew if the transaction runs
/// again.
pub struct FollowUp<R> {
    statements: Box<MakeStatements<[R]>>,
}

/// Makes statements of the rows of a write; an error rolls back.
type MakeStatements<R> = dyn Fn(&R) -> sqlx::Result<Vec<Statement>> + Send + Sync;

/// The statements that follow a write, made of rows that are not decoded yet.
pub(super) type StatementsAfter = MakeStatements<Rows>;

impl<R> FollowUp<R> {
    /// The statements that `statements` makes of the rows of the write. An error rolls back.
    pub fn new(
        statements: impl Fn(&[R]) -> sqlx::Result<Vec<Statement>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            statements: Box::new(statements),
        }
    }

    /// No statement.
    #[must_use]
    pub fn none() -> Self {
        Self::new(|_| Ok(Vec::new()))
    }
}

impl<R: TableRow> FollowUp<R> {
    pub(super) fn into_undecoded(self) -> Arc<StatementsAfter> {
        Arc::new(move |rows| (self.statements)(&rows.decode()?))
    }
}
