//! Codes at several replicas, which share nothing but the database. A code is good once, whichever
//! replica sees it first.

use super::{INCORRECT, INVALID, OFF, expect_no_entry, try_session, turn_off, two_replicas};
use e2e::{Api, Store, TestResponse, TestSetup, TestUser, for_both_stores};

for_both_stores!(
    a_code_that_was_used_at_one_replica_is_used_at_the_other,
    of_two_uses_of_a_code_at_the_same_moment_one_counts,
    of_two_uses_of_a_recovery_code_at_the_same_moment_one_counts,
    of_a_login_and_an_end_by_one_code_at_the_same_moment_one_counts,
);

const ROUNDS: usize = 15;

async fn a_code_that_was_used_at_one_replica_is_used_at_the_other(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = TestUser::register(&here, "ann").await;
    let factor = ann.turn_on_second_factor(&there).await;
    for (maker, other) in [(&here, &there), (&there, &here)] {
        app.database.forget_codes().await;
        let code = factor.code();
        ann.log_in_with_code(maker, &code).await;
        for api in [other, maker] {
            expect_no_entry(&ann.try_code(api, &code).await, INVALID);
            expect_no_entry(&try_session(api, &ann, &code).await, INVALID);
        }
    }
    ann.log_in_with_code(&here, &factor.recovery_codes[0]).await;
    expect_no_entry(
        &ann.try_code(&there, &factor.recovery_codes[0]).await,
        INVALID,
    );
}

#[track_caller]
fn expect_one(responses: [TestResponse; 2]) {
    let [one, other] = responses;
    let (good, refused) = if one.status == 200 {
        (one, other)
    } else {
        (other, one)
    };
    good.expect(200);
    expect_no_entry(&refused, INVALID);
}

/// Sends the same code to both addresses at the same moment.
async fn twice(user: &TestUser, apis: [&Api; 2], code: &str) -> [TestResponse; 2] {
    tokio::join!(user.try_code(apis[0], code), user.try_code(apis[1], code)).into()
}

async fn of_two_uses_of_a_code_at_the_same_moment_one_counts(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    for round in 0..ROUNDS {
        app.database.forget_codes().await;
        let apis = if round % 3 == 0 {
            [&here, &here]
        } else {
            [&here, &there]
        };
        expect_one(twice(&ann, apis, &factor.code()).await);
    }
}

async fn of_two_uses_of_a_recovery_code_at_the_same_moment_one_counts(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    for name in ["ann", "bob"] {
        let user = app.user(name).await;
        let factor = user.turn_on_second_factor(&app.bearer).await;
        for code in &factor.recovery_codes {
            app.database.forget_codes().await;
            expect_one(twice(&user, [&here, &there], code).await);
        }
    }
    assert_eq!(
        app.database.count_rows("SELECT 1 FROM recovery_code").await,
        0
    );
}

async fn of_a_login_and_an_end_by_one_code_at_the_same_moment_one_counts(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    for round in 0..ROUNDS {
        let ann = app.user(&format!("user {round}")).await;
        let factor = ann.turn_on_second_factor(&here).await;
        let ann = ann.log_in_with_code(&here, &factor.recovery_codes[0]).await;
        let is_recovery = round % 2 == 1;
        let code = if is_recovery {
            factor.recovery_codes[1].clone()
        } else {
            factor.next_code()
        };
        let own = there.with_token(&ann.token);
        let (entry, end) = tokio::join!(ann.try_code(&here, &code), turn_off(&own, &code));
        if end.status == 200 {
            end.expect_message(OFF);
            // If the second factor was turned off first, the login needs no code, and both requests
            // succeed.
            if entry.status != 200 {
                expect_no_entry(&entry, INVALID);
            }
        } else {
            end.expect_detail(400, INCORRECT);
            entry.expect(200);
        }
    }
}
