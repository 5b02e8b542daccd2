//! What the rows of PostgreSQL must prove before they count, by the setting `DATABASE_READS`, and values
//! with the time of the database.

/// What a statement has read, and the time of the clock of the database when it began to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed<T> {
    /// In Unix seconds. Neither before the call of the read nor after the state that it has seen.
    pub at: u64,
    /// What was read.
    pub value: T,
}

/// Reads that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// Of a server that takes itself for the primary. One that was cut off or frozen may do so for a
    /// moment after its successor took over.
    #[default]
    Primary,
    /// Of a server whose transaction a synchronous standby has acknowledged after the read, which no
    /// standby does that was promoted.
    Quorum,
}

impl Reads {
    /// An expression that is NULL if rows of the same execution count, and otherwise names the
    /// obstacle. With a quorum it writes to the WAL, so the implicit commit waits for the standby.
    /// `remote_write` is sufficient: nothing has to be durable there.
    pub(crate) fn obstacle(self) -> &'static str {
        match self {
            Self::Primary => "CASE WHEN pg_is_in_recovery() THEN 'standby' END",
            Self::Quorum => {
                "CASE WHEN pg_is_in_recovery() THEN 'standby'
                    WHEN current_setting('synchronous_standby_names') = '' THEN 'asynchronous'
                    WHEN set_config('synchronous_commit', 'remote_write', true) IS NULL
                        OR pg_logical_emit_message(true, 'rolegate', '') IS NULL THEN '' END"
            }
        }
    }

    /// Begins a transaction that writes. It may find nothing to write and be a read after all, such as
    /// that of a name that is taken; with a quorum its commit waits even so.
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Self::Primary => "BEGIN",
            Self::Quorum => {
                "BEGIN; SELECT CASE WHEN NOT pg_is_in_recovery()
                    THEN pg_logical_emit_message(true, 'rolegate', '') END"
            }
        }
    }
}
