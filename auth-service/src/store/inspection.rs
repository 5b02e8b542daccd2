//! Inspection of a database, which changes nothing.

use super::open::TABLES;
use rolegate_sql_store::{DatabaseUrl, Inspection, OpenError};

/// Whether the user `admin` exists.
const HAS_ADMIN: &str = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;

/// Inspects the database; [`Inspection::answer`] is whether the user `admin` exists.
pub(crate) async fn inspect(url: &DatabaseUrl) -> Result<Inspection, OpenError> {
    url.inspect(&TABLES, Some(HAS_ADMIN)).await
}
