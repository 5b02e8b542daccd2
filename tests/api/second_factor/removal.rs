//! `DELETE /users/{user_id}/second-factor`, with which an admin helps a user who has lost the
//! phone.

use super::{OFF, state};
use e2e::{TestSetup, TestUser, for_two_deployments, second_factor::PATH};

for_two_deployments!(an_admin_in_person_removes_the_second_factor_of_another_user);

async fn an_admin_in_person_removes_the_second_factor_of_another_user(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, bob) = (app.admin().await, app.user("bob").await);
    let ann = app.user_with_role("ann", "admin").await;
    let key = ann.key(&app.bearer).await.token;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let ann = ann.log_in_with_code(&app.bearer, &factor.next_code()).await;
    let path = |id: i64| format!("/users/{id}/second-factor");
    app.bearer
        .delete(&path(ann.id))
        .await
        .expect_detail(401, "Not authenticated.");
    let of_admin = admin.key(&app.bearer).await.token;
    for credential in [&bob.token, &key, &of_admin] {
        let refused = app
            .bearer
            .with_token(credential)
            .delete(&path(ann.id))
            .await;
        refused.expect_detail(403, "Insufficient privileges.");
    }
    let own = app.bearer.with_token(&ann.token);
    let refused = own.delete(&path(ann.id)).await;
    refused.expect_detail(
        400,
        "Use /profile/second-factor to turn off your own second factor.",
    );
    refused.expect_header("rolegate-reason", Some("OWN_SECOND_FACTOR"));
    own.get(PATH).await.expect_json(200, &state(true, 10));
    let as_admin = app.bearer.with_token(&admin.token);
    as_admin
        .delete(&path(999_999))
        .await
        .expect_detail(404, "User not found.");
    let not_on = as_admin.delete(&path(bob.id)).await;
    not_on.expect_detail(400, "Second factor is not on.");
    not_on.expect_header("rolegate-reason", Some("SECOND_FACTOR_STATE"));
    // A second factor that was only begun cannot be removed.
    bob.begin_second_factor(&app.bearer).await;
    as_admin
        .delete(&path(bob.id))
        .await
        .expect_detail(400, "Second factor is not on.");
    let not_a_number = "Path parameter \"user_id\" must be an integer.";
    as_admin
        .delete("/users/x/second-factor")
        .await
        .expect_detail(400, not_a_number);

    as_admin.delete(&path(ann.id)).await.expect_message(OFF);
    as_admin
        .delete(&path(ann.id))
        .await
        .expect_detail(400, "Second factor is not on.");
    own.get(PATH).await.expect_json(200, &state(false, 0));
    app.try_log_in("ann", &ann.password).await.expect(200);
    app.basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await
        .expect(200);
    // The user may turn on a second factor again, and gets other codes.
    let second = ann.turn_on_second_factor(&app.bearer).await;
    ann.try_code(&app.bearer, &factor.recovery_codes[0])
        .await
        .expect(401);
    let ann = ann.log_in_with_code(&app.bearer, &second.next_code()).await;
    // A former admin may not remove a second factor either.
    app.set_role(&admin, &ann, "author").await.expect(200);
    app.set_role(&admin, &bob, "admin").await.expect(200);
    app.bearer
        .with_token(&ann.token)
        .delete(&path(bob.id))
        .await
        .expect(403);
    let bob = TestUser::log_in(&app.bearer, "bob", &bob.password).await;
    app.bearer
        .with_token(&bob.token)
        .delete(&path(ann.id))
        .await
        .expect_message(OFF);
}
