//! A look at a database that changes nothing, not even its schema.

use super::open::TABLES;
use rolegate_sql_store::{CheckReport, DatabaseCheck, DatabaseUrl, InspectError, Inspection};

/// Whether there is a user `admin`, where there are users.
const HAS_ADMIN: &str = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;

/// Looks at the database; an SQLite file must exist.
pub(crate) async fn inspect(url: &DatabaseUrl) -> Result<Inspection, InspectError> {
    url.inspect(&TABLES, None).await
}

/// What `doctor` says of it; the answer tells whether there is a user `admin`. `now`: seconds since
/// 1970.
pub(crate) async fn examine(url: &DatabaseUrl, now: u64) -> CheckReport {
    let harm_of_clocks = "tokens expire too soon or too late";
    DatabaseCheck { tables: &TABLES, question: Some(HAS_ADMIN), now, harm_of_clocks }.of(url).await
}
