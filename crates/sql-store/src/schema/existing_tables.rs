//! Reads which tables and migrations of a service a database already has.

use crate::{
    error::OpenFailure,
    statement::Connection,
    tables::{HISTORY, Tables},
};

/// Selects a [`SchemaRow`]. The parameters are the names of three things: the history, the marker table, and
/// the schema. Tables of extensions do not count as tables of other programs.
const SELECT_IN_POSTGRES: &str = "SELECT current_setting('server_encoding') AS encoding,
    to_regclass($1) IS NOT NULL AS has_history, to_regclass($2) IS NOT NULL AS has_marker,
    EXISTS (
        SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = coalesce($3::text, current_schema()) AND c.relkind IN ('r', 'p', 'f')
            AND c.relname <> '_sqlx_migrations'
            AND NOT EXISTS (SELECT FROM pg_depend AS d
                WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    ) AS has_others,
    coalesce(CASE
        WHEN $3::text IS NULL THEN has_schema_privilege(current_schema(), 'CREATE')
        WHEN to_regnamespace($3) IS NULL
            THEN has_database_privilege(current_database(), 'CREATE')
        ELSE has_schema_privilege($3, 'CREATE')
    END, false) AS can_create";
const SELECT_IN_SQLITE: &str =
    "SELECT 'UTF8' AS encoding, count(*) FILTER (WHERE name = $1) > 0 AS has_history,
        count(*) FILTER (WHERE name = $2) > 0 AS has_marker,
        count(*) FILTER (WHERE name <> $1) > 0 AS has_others, true AS can_create
    FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";

const SHARED_SCHEMA: &str = "the schema has tables of another program; use a database or a schema of its own, or set \
    SHARE_DATABASE=on to create the tables beside them";

/// Determines whether a service may create its tables in a schema of PostgreSQL that has tables of other
/// programs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum SchemaSharing {
    /// The service must not create its tables, because the URL may lead to the database of another application
    /// by mistake.
    #[default]
    Refused,
    /// The service may create its tables, because the operator has set `SHARE_DATABASE`.
    Allowed,
}

crate::row! {
    /// The facts about the tables of a service, as read from the catalog of a database.
    struct SchemaRow {
        encoding: String,
        has_history: bool,
        has_marker: bool,
        has_others: bool,
        can_create: bool,
    }
}

crate::row! {
    /// A row of the history, which is the table of applied migrations.
    #[derive(Clone)]
    pub(super) struct AppliedMigration {
        pub(super) version: i64,
        pub(super) description: String,
        pub(super) success: bool,
        pub(super) checksum: Vec<u8>,
    }
}

/// The tables and migrations of a service that a database already has.
pub(super) struct ExistingTables {
    /// The applied migrations, by ascending version.
    pub(super) applied: Vec<AppliedMigration>,
    pub(super) has_marker: bool,
    /// The reason why this service must not create its tables beside those of other programs; `None` if it may,
    /// or if there are no tables. It counts only until the first migration is applied, because the tables of
    /// the service itself count as others here.
    pub(super) conflict: Option<&'static str>,
    pub(super) can_create: bool,
}

impl ExistingTables {
    /// Reads the catalog of the database and the applied migrations. Fails if the encoding of the database is
    /// not UTF-8.
    pub(super) async fn read(
        connection: &mut Connection<'_>,
        tables: &Tables,
        sharing: SchemaSharing,
    ) -> Result<Self, OpenFailure> {
        let dialect = connection.dialect();
        let history = tables.name(dialect, HISTORY);
        let conflict;
        let select;
        match connection {
            Connection::Postgres(_) => {
                conflict = SHARED_SCHEMA;
                select = connection
                    .statement(SELECT_IN_POSTGRES)
                    .bind(&history)
                    .bind(tables.marker(dialect))
                    .bind(tables.schema);
            }
            Connection::Sqlite(_) => {
                conflict = "it has tables of another program";
                select = connection
                    .statement(SELECT_IN_SQLITE)
                    .bind(&history)
                    .bind(tables.marker_table);
            }
        }
        let row: SchemaRow = select.fetch_one(connection).await?;
        // Other encodings are refused, because a name that the encoding cannot represent would make a whole
        // batched statement fail, including the reads of other names.
        if row.encoding != "UTF8" {
            return Err(OpenFailure::Unrecognized(format!(
                "has the encoding {}; create it with ENCODING 'UTF8'",
                row.encoding
            )));
        }
        let mut applied = Vec::new();
        if row.has_history {
            let sql = format!(
                "SELECT version, description, success, checksum FROM {history} ORDER BY version"
            );
            let select = connection.statement(&sql);
            applied = select.fetch(connection).await?.decode()?;
        }
        let has_conflict = row.has_others && matches!(sharing, SchemaSharing::Refused);
        Ok(Self {
            applied,
            has_marker: row.has_marker,
            conflict: has_conflict.then_some(conflict),
            can_create: row.can_create,
        })
    }
}
