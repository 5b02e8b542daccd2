use super::{Obstacle, Timeline, find_obstacle};
use crate::{DatabaseUrl, Store as _, test_support::open_with_table};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

#[test]
fn a_lower_timeline_than_was_seen_is_superseded_and_its_error_says_what_to_do() {
    let timeline = Timeline::default();
    assert_eq!(timeline.observe(4), Ok(()));
    assert!(!timeline.is_superseded(Some(4)));
    assert_eq!([timeline.observe(5), timeline.observe(5)], [Ok(()), Ok(())]);
    let superseded = [Some(4), Some(5), None].map(|of| timeline.is_superseded(of));
    assert_eq!(superseded, [true, false, false]);
    let error = timeline.observe(1).expect_err("superseded").to_string();
    assert_eq!(
        error,
        "the server is a superseded primary: its timeline 1 is lower than 5, the highest seen; after \
         a restore, restart this service"
    );
    assert!(
        !timeline.is_superseded(Some(5)),
        "a lower one changes nothing"
    );
}

#[tokio::test]
async fn a_higher_timeline_ends_the_wait_for_it() {
    let timeline = Timeline::default();
    assert_eq!(timeline.observe(4), Ok(()));
    assert_eq!(
        timeline.wait_until_superseded(Some(3)).await,
        Obstacle::Superseded {
            timeline: 3,
            highest: 4
        }
    );
    let (obstacle, seen) = tokio::join!(timeline.wait_until_superseded(Some(4)), async {
        [timeline.observe(4), timeline.observe(5)]
    });
    assert_eq!(seen, [Ok(()), Ok(())]);
    assert_eq!(
        obstacle,
        Obstacle::Superseded {
            timeline: 4,
            highest: 5
        }
    );
}

/// Creates functions in this database that hide those of the server. They fail with the code that a managed
/// server would return.
const SHADOWS: &str = "CREATE SCHEMA IF NOT EXISTS shadow;
    CREATE OR REPLACE FUNCTION shadow.pg_current_wal_insert_lsn() RETURNS pg_lsn LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'not here' USING ERRCODE = '{code}'; END $$;
    CREATE OR REPLACE FUNCTION shadow.pg_is_in_recovery() RETURNS bool LANGUAGE sql
        AS 'SELECT {standby}';
    SET search_path = shadow, pg_catalog, public";

#[tokio::test]
async fn a_server_without_wal_functions_is_a_primary_unless_it_is_in_recovery() {
    let database = postgres_cluster::Database::create().await;
    let connect = || async { PgConnection::connect(database.url().as_str()).await };
    let timeline = Timeline::default();
    for code in ["0A000", "55000", "42883", "42501"] {
        let mut connection = connect().await.expect("connected");
        let shadow = |standby: &str| {
            SHADOWS
                .replace("{code}", code)
                .replace("{standby}", standby)
        };
        let hide = sqlx::raw_sql(AssertSqlSafe(shadow("false"))).execute(&mut connection);
        hide.await.expect("hidden");
        let found = timeline.require_primary(&mut connection).await;
        assert_eq!(found.expect("a primary"), None, "{code}");
        timeline
            .require_still_primary(&mut connection, None)
            .await
            .expect("a primary");
        let moved = sqlx::raw_sql("SET search_path = public").execute(&mut connection);
        moved.await.expect("seen");
        let found = timeline
            .require_primary(&mut connection)
            .await
            .expect("a primary");
        assert_eq!(
            found,
            Some(1),
            "the timeline of a server that tells it counts"
        );
    }
    let mut connection = connect().await.expect("connected");
    let standby = SHADOWS
        .replace("{code}", "42501")
        .replace("{standby}", "true");
    sqlx::raw_sql(AssertSqlSafe(standby))
        .execute(&mut connection)
        .await
        .expect("hidden");
    for outcome in [
        timeline.require_primary(&mut connection).await.map(drop),
        timeline.require_still_primary(&mut connection, None).await,
    ] {
        let error = outcome.expect_err("a standby");
        assert_eq!(find_obstacle(&error), Some(Obstacle::Standby), "{error}");
    }
    let other = sqlx::raw_sql(
        "DROP FUNCTION shadow.pg_is_in_recovery();
        CREATE FUNCTION shadow.pg_is_in_recovery() RETURNS bool LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION 'down' USING ERRCODE = '57P03'; END $$",
    );
    other.execute(&mut connection).await.expect("hidden");
    timeline
        .require_primary(&mut connection)
        .await
        .expect_err("another error decides nothing");
}

#[tokio::test]
async fn a_store_opens_reads_and_writes_on_a_server_without_wal_functions() {
    let database = postgres_cluster::Database::create().await;
    let mut connection = PgConnection::connect(database.url().as_str())
        .await
        .expect("connected");
    let for_all = SHADOWS.replace("{code}", "55000").replace("{standby}", "false")
        + "; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = shadow, pg_catalog, public',
            current_database()); END $$";
    sqlx::raw_sql(AssertSqlSafe(for_all))
        .execute(&mut connection)
        .await
        .expect("hidden");
    let url = DatabaseUrl::required("DATABASE_URL", Some(database.url().as_str().into()), None);
    let url = url.expect("a URL");
    let store = open_with_table(&url, "CREATE TABLE t (i bigint)").await;
    let insert = store.statement("INSERT INTO t VALUES (7) RETURNING i");
    assert_eq!(store.write::<i64>(insert).await.expect("written"), [7]);
    let read = store.read::<i64>(store.statement("SELECT i FROM t")).await;
    assert_eq!(read.expect("read"), [7]);
    store.close().await;
}
