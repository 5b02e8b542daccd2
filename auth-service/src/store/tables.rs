//! The schema, as migrations.

use rolegate_sql_store::{DatabaseUrl, Inspection, OpenError, Tables};

/// The tables of auth-service. Applied migrations must not change, not even their comments.
pub(super) const TABLES: Tables = Tables {
    owner: "auth-service",
    marker_table: "user",
    schema: None,
    postgres: &[
        (1, "user", include_str!("../../migrations/postgres/0001_user.sql")),
        (
            2,
            "tokens not before",
            include_str!("../../migrations/postgres/0002_tokens_not_before.sql"),
        ),
        (3, "disabled", include_str!("../../migrations/postgres/0003_disabled.sql")),
        (4, "api key", include_str!("../../migrations/postgres/0004_api_key.sql")),
    ],
    sqlite: &[
        (1, "user", include_str!("../../migrations/sqlite/0001_user.sql")),
        (
            2,
            "tokens not before",
            include_str!("../../migrations/sqlite/0002_tokens_not_before.sql"),
        ),
        (3, "disabled", include_str!("../../migrations/sqlite/0003_disabled.sql")),
        (4, "api key", include_str!("../../migrations/sqlite/0004_api_key.sql")),
    ],
};

/// Whether the user `admin` exists.
const HAS_ADMIN: &str = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;

/// Inspects the database, which changes nothing; [`Inspection::answer`] is whether the user `admin`
/// exists.
pub async fn inspect(url: &DatabaseUrl) -> Result<Inspection, OpenError> {
    url.inspect(&TABLES, Some(HAS_ADMIN)).await
}
