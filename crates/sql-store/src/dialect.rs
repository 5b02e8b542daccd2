//! Names the two engines, for code whose SQL differs between them.

/// The engine whose SQL a statement is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Sqlite,
}
