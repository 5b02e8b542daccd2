//! Defines what a PostgreSQL server must prove before its rows are accepted.

/// The servers that may answer a read, by the setting `DATABASE_READS`. An SQLite file has no standby, so it
/// supports only [`ReadConsistency::Primary`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadConsistency {
    /// Any server that believes it is the primary may answer. A server that was cut off or frozen may believe
    /// so for a moment after its successor took over.
    #[default]
    Primary,
    /// After the read, a synchronous standby must acknowledge the transaction of the read. A standby that was
    /// promoted acknowledges nothing to its former primary.
    Quorum,
}

impl ReadConsistency {
    /// Returns an SQL expression for a column beside the rows of a read. It is NULL if the rows may be used,
    /// and otherwise names the obstacle.
    ///
    /// With a quorum the expression writes to the WAL, so that the implicit commit waits for the standby.
    /// `remote_write` is sufficient, because nothing has to be durable on the standby.
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

    /// Returns the SQL that begins a transaction that writes.
    ///
    /// The transaction may find nothing to write and thus only read, for example if a name is taken. With a
    /// quorum, its commit waits for the standby even then, because the transaction begins with a write to the
    /// WAL.
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
