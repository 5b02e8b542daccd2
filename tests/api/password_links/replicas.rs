//! Links at several replicas, which share nothing but the database, and across restarts.

use super::{DONE, expect_invalid, new_link, redeem};
use crate::second_factor::two_replicas;
use e2e::{Store, TestSetup, for_both_stores, for_two_deployments, until_served};

for_both_stores!(
    a_link_is_redeemed_at_the_other_replica_and_ended_at_both,
    of_two_redemptions_at_the_same_moment_one_counts,
);
for_two_deployments!(a_link_is_as_good_after_a_restart);

async fn a_link_is_redeemed_at_the_other_replica_and_ended_at_both(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    for (round, api) in [&here, &there, &here].into_iter().enumerate() {
        let (first, password) = (
            new_link(&app, &admin, ann.id).await,
            format!("chosen {round}"),
        );
        let second = new_link(&app, &admin, ann.id).await;
        expect_invalid(&redeem(api, &first, "x").await);
        redeem(api, &second, &password).await.expect_message(DONE);
        for api in [&here, &there] {
            expect_invalid(&redeem(api, &second, "x").await);
            api.with_token(&ann.token).get("/profile").await.expect(401);
        }
        app.try_log_in("ann", &password).await.expect(200);
    }
}

async fn of_two_redemptions_at_the_same_moment_one_counts(store: Store) {
    let (app, _other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    for round in 0..15 {
        let token = new_link(&app, &admin, ann.id).await;
        let passwords = ["one", "other"].map(|name| format!("{name} {round}"));
        let (one, other) = tokio::join!(
            redeem(&here, &token, &passwords[0]),
            redeem(&there, &token, &passwords[1]),
        );
        let is_first = one.status == 200;
        let (done, refused) = if is_first { (one, other) } else { (other, one) };
        done.expect_message(DONE);
        expect_invalid(&refused);
        let statuses = [is_first, !is_first].map(|is_chosen| if is_chosen { 200 } else { 401 });
        for (password, status) in passwords.iter().zip(statuses) {
            app.try_log_in("ann", password).await.expect(status);
        }
    }
}

async fn a_link_is_as_good_after_a_restart(setup: TestSetup) {
    let mut app = setup.start().await;
    let (admin, ann, bob) = (
        app.admin().await,
        app.user("ann").await,
        app.user("bob").await,
    );
    let (used, good) = (
        new_link(&app, &admin, ann.id).await,
        new_link(&app, &admin, bob.id).await,
    );
    redeem(&app.bearer, &used, "chosen by ann")
        .await
        .expect_message(DONE);
    app.kill_auth().await;
    app.start_auth(None).await;
    until_served(async || app.try_log_in("ann", "wrong").await)
        .await
        .expect(401);
    expect_invalid(&redeem(&app.bearer, &used, "again").await);
    redeem(&app.bearer, &good, "chosen by bob")
        .await
        .expect_message(DONE);
    app.try_log_in("ann", "chosen by ann").await.expect(200);
    app.try_log_in("bob", "chosen by bob").await.expect(200);
}
