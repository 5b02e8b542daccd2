//! Names the two engines, for code whose SQL differs between them.

/// The engine that a statement is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Sqlite,
}
