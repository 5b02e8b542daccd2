//! A look at a database that changes nothing, not even its schema.

use super::open::TABLES;
use sql_store::{Examination, Examined, Inspection, NotInspected, StoreUrl};

/// Whether there is a user `admin`, where there are users.
const HAS_ADMIN: &str = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;

/// Looks at the database; an SQLite file must exist.
pub(crate) async fn inspect(url: &StoreUrl) -> Result<Inspection, NotInspected> {
    url.inspect(&TABLES, None).await
}

/// What `doctor` says of it; the answer tells whether there is a user `admin`. `now`: seconds since
/// 1970.
pub(crate) async fn examine(url: &StoreUrl, now: u64) -> Examined {
    let harm_of_clocks = "tokens expire too soon or too late";
    Examination { tables: &TABLES, question: Some(HAS_ADMIN), now, harm_of_clocks }.of(url).await
}
