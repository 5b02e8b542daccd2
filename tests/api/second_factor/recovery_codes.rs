//! Recovery codes, for users who have lost their phone.

use super::{INVALID, OFF, expect_no_entry, state, try_session, turn_off};
use e2e::{TestSetup, TestUser, for_two_deployments, second_factor::PATH};

for_two_deployments!(each_recovery_code_is_good_once_however_it_is_typed);

async fn each_recovery_code_is_good_once_however_it_is_typed(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let of_bob = bob.turn_on_second_factor(&app.bearer).await;
    expect_no_entry(
        &ann.try_code(&app.bearer, &of_bob.recovery_codes[0]).await,
        INVALID,
    );
    let codes = &factor.recovery_codes;
    let mut token = String::new();
    for (index, code) in codes[..9].iter().enumerate() {
        let typed = match index % 4 {
            0 => code.clone(),
            1 => code.to_uppercase(),
            2 => code.replace('-', ""),
            _ => format!(" {} ", code.replace('-', " ")),
        };
        if index % 2 == 0 {
            token = ann.log_in_with_code(&app.bearer, &typed).await.token;
        } else {
            try_session(&app.bearer, &ann, &typed).await.expect(201);
        }
        let own = app.bearer.with_token(&token);
        own.get(PATH)
            .await
            .expect_json(200, &state(true, 9 - index));
        // The wrong codes are forgotten, because ten of them would be too many.
        app.database.forget_codes().await;
        expect_no_entry(&ann.try_code(&app.bearer, code).await, INVALID);
    }
    // The last recovery code turns off the second factor.
    let own = app.bearer.with_token(&token);
    turn_off(&own, &codes[9]).await.expect_message(OFF);
    own.get(PATH).await.expect_json(200, &state(false, 0));
    TestUser::log_in(&app.bearer, "ann", &ann.password).await;
}
