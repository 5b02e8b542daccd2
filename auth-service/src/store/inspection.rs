//! Reads what `doctor` reports about a database of users, without changing it.

use super::{
    RoleUsage,
    tables::{ROLES_IN_USE, SECOND_FACTOR_KEY_IDS, TABLES},
};
use rolegate_program::failure::Failure;
use rolegate_sql_store::{DatabaseUrl, Facts, InspectedTables, Inspection};

/// The facts about users that `doctor` reports.
///
/// If the schema is older, only `admin_exists` is read, and the other facts keep their defaults. If the clock of an
/// SQLite file is not running, `locked_out_users` and `unsealed_rows` keep their defaults.
#[derive(Debug, Default)]
pub struct UserFacts {
    /// True if the user `admin` exists.
    pub admin_exists: bool,
    /// The stored roles, with the numbers of users and of API keys that have them.
    pub roles_in_use: Vec<RoleUsage>,
    /// The ids of the keys that encrypt the secrets of all second factors that are on.
    pub second_factor_key_ids: Vec<String>,
    /// The number of users whose accounts have an end.
    pub users_with_end: i64,
    /// The names of all groups.
    pub group_names: Vec<String>,
    /// The number of users who cannot sign in because their `tokens_not_before` is too far in the future.
    pub locked_out_users: i64,
    /// The rows of the record that wait to be sealed; `None` if no row waits.
    pub unsealed_rows: Option<UnsealedRows>,
}

rolegate_sql_store::row! {
    /// Rows of the record that wait to be sealed.
    #[derive(Clone, Copy, Debug)]
    pub struct UnsealedRows {
        /// The age of the oldest row, in seconds.
        pub oldest_age: i64,
        /// The time between the oldest row and the newest, in seconds.
        pub span: i64,
    }
}

impl Facts for UserFacts {
    async fn read(tables: &mut InspectedTables<'_, '_>) -> sqlx::Result<Self> {
        let admin = r#"SELECT EXISTS (SELECT 1 FROM "user" WHERE username = 'admin')"#;
        let mut facts = Self {
            admin_exists: tables.fetch::<bool>(tables.statement(admin)).await? == [true],
            ..Self::default()
        };
        if !tables.is_up_to_date {
            return Ok(facts);
        }
        facts.roles_in_use = tables.fetch(tables.statement(ROLES_IN_USE)).await?;
        let ending = r#"SELECT count(*) FROM "user" WHERE until IS NOT NULL"#;
        let ending = tables.fetch(tables.statement(ending)).await?.pop();
        facts.users_with_end = ending.unwrap_or_default();
        let groups = tables.statement(r#"SELECT name FROM "group" ORDER BY name"#);
        facts.group_names = tables.fetch(groups).await?;
        facts.second_factor_key_ids = tables
            .fetch(tables.statement(SECOND_FACTOR_KEY_IDS))
            .await?;
        let Some(now) = tables.time else {
            return Ok(facts);
        };
        let locked_out = tables
            .statement(r#"SELECT count(*) FROM "user" WHERE tokens_not_before > $1 + 60"#)
            .bind(now);
        let locked_out = tables.fetch(locked_out).await?.pop();
        facts.locked_out_users = locked_out.unwrap_or_default();
        let unsealed = tables
            .statement(
                "SELECT $1 - min(at) AS oldest_age, max(at) - min(at) AS span
                FROM audit_pending HAVING count(*) > 0",
            )
            .bind(now);
        facts.unsealed_rows = tables.fetch(unsealed).await?.pop();
        Ok(facts)
    }
}

/// Reads the state of the schema and the facts about users, without changing the database.
pub async fn inspect(url: &DatabaseUrl) -> Result<Inspection<UserFacts>, Failure> {
    url.inspect(&TABLES).await
}
