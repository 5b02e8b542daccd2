//! What rows of PostgreSQL must prove before they count.

/// Which server may answer a read, by the setting `DATABASE_READS`. A file has no standby, so it only knows
/// [`ReadConsistency::Primary`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadConsistency {
    /// Any server that takes itself for the primary. One that was cut off or frozen may do so for a
    /// moment after its successor took over.
    #[default]
    Primary,
    /// A server whose transaction a synchronous standby has acknowledged after the read. A standby that was
    /// promoted acknowledges nothing of its former primary.
    Quorum,
}

impl ReadConsistency {
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
