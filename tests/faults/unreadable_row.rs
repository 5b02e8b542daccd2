//! Tests a row that cannot be decoded, and that is read in one statement with the rows of other users.

use e2e::{TestDatabase, TestSetup, for_two_deployments};
use futures_util::future::join_all;

for_two_deployments!(row_that_cannot_be_decoded_fails_only_the_requests_of_its_user);

/// How many requests are made at once, so that most of them share statements.
const REQUESTS: usize = 32;

async fn row_that_cannot_be_decoded_fails_only_the_requests_of_its_user(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    app.database
        .execute(match app.database {
            TestDatabase::Postgres(_) => {
                r#"ALTER TABLE "user" DROP CONSTRAINT user_tokens_not_before_check;
                UPDATE "user" SET tokens_not_before = -1 WHERE username = 'bob'"#
            }
            TestDatabase::Sqlite(_) => {
                r#"PRAGMA ignore_check_constraints = ON;
                UPDATE "user" SET tokens_not_before = -1 WHERE username = 'bob'"#
            }
        })
        .await;
    let (of_ann, of_bob) = (
        app.bearer.with_token(&ann.token),
        app.bearer.with_token(&bob.token),
    );
    for _ in 0..5 {
        let requests = (0..REQUESTS).map(async |number| {
            let is_of_bob = number % 4 == 0;
            let api = if is_of_bob { &of_bob } else { &of_ann };
            (is_of_bob, api.get("/profile").await)
        });
        for (is_of_bob, response) in join_all(requests).await {
            response.expect(if is_of_bob { 500 } else { 200 });
        }
    }
}
