//! The query plan for a page of users on PostgreSQL must be an index scan that begins where the
//! previous page ended.

use e2e::{Api, TestApp, TestDatabase, TestSetup, for_postgres_deployments};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

for_postgres_deployments!(every_page_is_read_through_an_index);

const USERS: i64 = 200_000;

async fn connect(app: &TestApp) -> PgConnection {
    let TestDatabase::Postgres(database) = &app.database else {
        panic!("planned on PostgreSQL")
    };
    PgConnection::connect(database.url().as_str())
        .await
        .expect("connected")
}

/// Returns the statement that auth-service sends for this page, as PostgreSQL received it. A
/// connection shows only its last statement, which may already be another one: a read of the admin,
/// or a health check.
async fn statement(connection: &mut PgConnection, admin: &Api, query: &str) -> String {
    let find = r#"SELECT query FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'rolegate auth-service' AND query LIKE '%FROM "user"%ORDER BY %id LIMIT $%'
        AND query_start >= $1::timestamptz"#;
    for _ in 0..100 {
        let now = "SELECT clock_timestamp()::text";
        let before: String = sqlx::query_scalar(now)
            .fetch_one(&mut *connection)
            .await
            .expect("now");
        admin.get(&format!("/users?{query}")).await.expect(200);
        let find = sqlx::query_scalar(find)
            .bind(before)
            .fetch_optional(&mut *connection);
        if let Some(statement) = find.await.expect("read") {
            return statement;
        }
    }
    panic!("auth-service always runs another statement after a page");
}

/// Returns the plan of the statement with these values. A generic plan ignores the values, a custom
/// plan uses them.
async fn plan_of(
    connection: &mut PgConnection,
    mode: &str,
    statement: &str,
    types: &str,
    values: &str,
) -> String {
    let prepare = format!("SET plan_cache_mode = {mode}; PREPARE page({types}) AS {statement}");
    sqlx::raw_sql(AssertSqlSafe(prepare))
        .execute(&mut *connection)
        .await
        .expect("prepared");
    let explain = format!("EXPLAIN (COSTS OFF) EXECUTE page({values})");
    let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(explain))
        .persistent(false)
        .fetch_all(&mut *connection)
        .await
        .expect("explained");
    sqlx::raw_sql("DEALLOCATE page")
        .execute(connection)
        .await
        .expect("forgotten");
    rows.into_iter()
        .map(|(line,)| line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Searches until all users can be found. Each search writes the search keys of some users.
async fn wait_for_search_keys(admin: &Api) {
    for _ in 0..USERS / 1000 {
        let response = admin.get("/users?search=nowhere&total=true").await;
        if response.status == 200 {
            return;
        }
        response.expect_detail(503, "Service is busy, try again.");
    }
    panic!("the search keys are never complete");
}

async fn every_page_is_read_through_an_index(plan: TestSetup) {
    let app = plan.start().await;
    let mut connection = connect(&app).await;
    let fill = r#"INSERT INTO "user" (username, password, role)
        SELECT 'user ' || n, '-', CASE WHEN n % 1000 = 0 THEN 'author' ELSE 'user' END
        FROM generate_series(1, $1) AS n"#;
    sqlx::query(fill)
        .bind(USERS)
        .execute(&mut connection)
        .await
        .expect("filled");
    let admin = app.bearer.with_token(&app.admin().await.token);
    wait_for_search_keys(&admin).await;
    sqlx::query(r#"VACUUM (ANALYZE) "user""#)
        .execute(&mut connection)
        .await
        .expect("analyzed");

    for (query, types, values, index, condition) in [
        ("limit=50", "bigint", "51", "user_pkey", ""),
        (
            "sort=username&after=100:user%2012345",
            "text, bigint, bigint",
            "'user 12345', 100, 51",
            "user_search_key_idx",
            "(ROW(search_key, id) > ROW(",
        ),
        (
            "limit=50&after=100000",
            "bigint, bigint",
            "100000, 51",
            "user_pkey",
            "(id > ",
        ),
        (
            "limit=200&after=199900",
            "bigint, bigint",
            "199900, 201",
            "user_pkey",
            "(id > ",
        ),
        (
            "role=author&after=100000",
            "text, bigint, bigint",
            "'author', 100000, 51",
            "user_role_id_idx",
            "(role = ",
        ),
        (
            "role=admin",
            "text, bigint",
            "'admin', 51",
            "user_role_id_idx",
            "(role = ",
        ),
    ] {
        let statement = statement(&mut connection, &admin, query).await;
        // With a role only the custom plan is checked: a generic one assumes that a third of all
        // users have the role. PostgreSQL uses custom plans while they are estimated to be cheaper.
        let modes = ["force_custom_plan", "force_generic_plan"];
        for mode in &modes[..if query.contains("role") { 1 } else { 2 }] {
            let plan = plan_of(&mut connection, mode, &statement, types, values).await;
            // The memberships of the users on the page are read by a subplan.
            let plan = plan.split("SubPlan").next().expect("the plan of the page");
            let direction = if query.contains("=-") {
                " Backward"
            } else {
                ""
            };
            let by_index = plan.contains(&format!("Index Scan{direction} using {index}"));
            assert!(
                by_index && plan.contains(condition),
                "{query}, {mode}\n{plan}"
            );
            for expensive in ["Seq Scan", "Sort", "Filter"] {
                assert!(!plan.contains(expensive), "{query}, {mode}\n{plan}");
            }
        }
    }
    // A search by prefix reads a range of names in the index instead of matching a pattern.
    let prefix = statement(&mut connection, &admin, "username=user%2012345").await;
    let (types, values) = ("text, text, bigint", "'user 12345', 'user 12346', 51");
    let plan = plan_of(&mut connection, "force_custom_plan", &prefix, types, values).await;
    assert!(
        plan.contains("user_username_key") && !plan.contains("Seq Scan"),
        "{plan}"
    );
    // An admin runs one search at a time.
    let searches = [(); 8].map(|()| admin.get("/users?search=nowhere"));
    let answers = futures_util::future::join_all(searches).await;
    let (found, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert!(!found.is_empty() && !refused.is_empty(), "{found:?}");
    for answer in refused {
        answer.expect_detail(503, "Service is busy, try again.");
        answer.expect_header("retry-after", Some("1"));
    }
}
