//! Sets the session settings that the programs rely on.
//!
//! `ALTER ROLE … SET`, `ALTER DATABASE … SET` and the server's configuration file can each change the defaults
//! of these settings, perhaps for the sake of another application. `default_transaction_read_only` is
//! respected, because operators and providers set it while nothing may be written.

use sqlx::PgConnection;

/// The SQL that sets each setting of its list in a session, if the default of that setting was changed.
///
/// A server that is too old to know a setting is not asked to change it. Settings that the client sent when the
/// session began stay, because they come from these programs or from the database URL.
///
/// - Transactions lock rows and then read what others have committed meanwhile. This needs `READ COMMITTED`: at
///   a higher level such transactions fail with SQLSTATE 40001.
/// - The programs limit the time of each statement themselves, with a higher limit for statements that take
///   long, and the pool closes idle connections. So timeouts that were set on the server are turned off.
/// - `session_replication_role` could switch off foreign keys, through which the server deletes the keys of a
///   deleted user.
/// - `synchronous_commit` makes sure that a confirmed change is stored. If an operator has turned it off for
///   the whole server, that decision is respected.
const REQUIRE: &str = "SELECT set_config(s.name, required.setting, false)
    FROM (VALUES ('default_transaction_isolation', 'read committed'), ('statement_timeout', '0'),
        ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'),
        ('idle_session_timeout', '0'), ('transaction_timeout', '0'),
        ('session_replication_role', 'origin'), ('synchronous_commit', 'on')) AS required (name, setting)
    JOIN pg_settings AS s ON s.name = required.name
    WHERE s.setting <> required.setting AND s.source <> 'client' AND (s.name <> 'synchronous_commit'
        OR s.setting = 'off' AND s.source IN ('database', 'user', 'database user'))";

pub(super) async fn require(connection: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::raw_sql(REQUIRE).execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::require;
    use sqlx::{AssertSqlSafe, Connection as _, PgConnection, query_scalar};

    async fn connect(url: &str) -> PgConnection {
        PgConnection::connect(url).await.expect("connected")
    }

    async fn setting(connection: &mut PgConnection, name: &str) -> String {
        let select = query_scalar("SELECT current_setting($1)").bind(name);
        select.fetch_one(connection).await.expect("read")
    }

    #[tokio::test]
    async fn settings_of_a_database_that_would_fail_or_lose_changes_are_set() {
        let database = postgres_cluster::Database::create().await;
        let url = database.url();
        let mut owner = connect(url.as_str()).await;
        let name: String = query_scalar("SELECT current_database()")
            .fetch_one(&mut owner)
            .await
            .expect("read");
        let required = [
            (
                "default_transaction_isolation",
                "serializable",
                "read committed",
            ),
            ("lock_timeout", "1ms", "0"),
            ("statement_timeout", "10s", "0"),
            ("idle_in_transaction_session_timeout", "1ms", "0"),
            ("idle_session_timeout", "5s", "0"),
            ("session_replication_role", "replica", "origin"),
            ("synchronous_commit", "off", "on"),
        ];
        let respected = [
            ("default_transaction_read_only", "on", "on"),
            ("search_path", "pg_catalog", "pg_catalog"),
            ("work_mem", "1MB", "1MB"),
        ];
        for (setting, value, _) in required.into_iter().chain(respected) {
            let alter = format!("ALTER DATABASE \"{name}\" SET {setting} = '{value}'");
            let altered = sqlx::raw_sql(AssertSqlSafe(alter)).execute(&mut owner);
            altered.await.expect(setting);
        }
        let mut session = connect(url.as_str()).await;
        for (name, value, _) in required {
            assert_eq!(
                setting(&mut session, name).await,
                value,
                "{name} is a default"
            );
        }
        require(&mut session).await.expect("set");
        for (name, _, expected) in required.into_iter().chain(respected) {
            assert_eq!(setting(&mut session, name).await, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn what_was_sent_when_the_session_began_stays() {
        let database = postgres_cluster::Database::create().await;
        let options = database
            .url()
            .as_str()
            .parse::<sqlx::postgres::PgConnectOptions>();
        let options = options
            .expect("options")
            .options([("lock_timeout", "3s"), ("synchronous_commit", "off")]);
        let mut session = PgConnection::connect_with(&options)
            .await
            .expect("connected");
        require(&mut session).await.expect("set");
        assert_eq!(setting(&mut session, "lock_timeout").await, "3s");
        assert_eq!(setting(&mut session, "synchronous_commit").await, "off");
    }
}
