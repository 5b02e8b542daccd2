//! Names the two engines, for code whose SQL differs between them.

/// The engine that a statement is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Sqlite,
}

impl Dialect {
    /// Returns the name of the engine in spans.
    pub(crate) fn system(self) -> &'static str {
        match self {
            Self::Postgres => "postgresql",
            Self::Sqlite => "sqlite",
        }
    }
}
