//! Which one-time codes are valid, and when.

use super::{INCORRECT, INVALID, ON, confirm, expect_no_entry, try_session, turn_off};
use e2e::{
    SecondFactor, TestApp, TestSetup, TestUser, eventually, for_two_deployments, token::now,
    totp::STEP, until_served,
};

for_two_deployments!(
    codes_of_the_step_before_and_after_are_good_and_no_others,
    a_code_is_good_once_and_those_before_it_are_not_good_any_more,
    a_used_code_stays_used_after_a_restart,
    a_code_is_read_however_it_is_typed,
);

/// Returns the statuses of logins with the codes of these moments, in seconds from now, each sent
/// as if it were the first one. All logins fall into one step, and stay away from its ends because
/// clocks may differ.
async fn statuses(app: &TestApp, user: &TestUser, factor: &SecondFactor) -> Vec<(i64, u16)> {
    const DISTANCES: [i64; 7] = [-90, -60, -30, 0, 30, 60, 90];
    eventually("logins within one step", async || {
        let time = now();
        let mut found = Vec::new();
        for distance in DISTANCES {
            app.database.forget_codes().await;
            let code = factor.totp.at(time.saturating_add_signed(distance));
            found.push((distance, user.try_code(&app.bearer, &code).await.status));
        }
        let end = now();
        let is_inside = |time: u64| (1..STEP - 1).contains(&(time % STEP));
        let is_one_step = time / STEP == end / STEP;
        (is_inside(time) && is_inside(end) && is_one_step).then_some(found)
    })
    .await
}

async fn codes_of_the_step_before_and_after_are_good_and_no_others(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let expected = [
        (-90, 401),
        (-60, 401),
        (-30, 200),
        (0, 200),
        (30, 200),
        (60, 401),
        (90, 401),
    ];
    assert_eq!(statuses(&app, &ann, &factor).await, expected);
}

async fn a_code_is_good_once_and_those_before_it_are_not_good_any_more(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let factor = ann.begin_second_factor(&app.bearer).await;
    let own = app.bearer.with_token(&ann.token);
    let first = factor.code();
    confirm(&own, &first).await.expect_message(ON);
    // The code that turned on the second factor is used up, wherever it is sent.
    expect_no_entry(&ann.try_code(&app.bearer, &first).await, INVALID);
    expect_no_entry(&try_session(&app.bearer, &ann, &first).await, INVALID);
    let next = factor.next_code();
    let ann = ann.log_in_with_code(&app.bearer, &next).await;
    let own = app.bearer.with_token(&ann.token);
    for used in [&next, &first] {
        expect_no_entry(&ann.try_code(&app.bearer, used).await, INVALID);
        expect_no_entry(&try_session(&app.bearer, &ann, used).await, INVALID);
        turn_off(&own, used).await.expect_detail(400, INCORRECT);
    }
    // From here on, all earlier codes count as used long ago.
    app.database.forget_codes().await;
    try_session(&app.bearer, &ann, &factor.code())
        .await
        .expect(201);
}

async fn a_used_code_stays_used_after_a_restart(setup: TestSetup) {
    let mut app = setup.start().await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    let (used, recovery_code) = (factor.next_code(), &factor.recovery_codes[0]);
    ann.log_in_with_code(&app.bearer, &used).await;
    ann.log_in_with_code(&app.bearer, recovery_code).await;
    app.kill_auth().await;
    app.start_auth(None).await;
    until_served(async || app.try_log_in("ann", "wrong").await)
        .await
        .expect(401);
    for used in [&used, recovery_code] {
        expect_no_entry(&ann.try_code(&app.bearer, used).await, INVALID);
    }
    ann.log_in_with_code(&app.bearer, &factor.recovery_codes[1])
        .await;
}

async fn a_code_is_read_however_it_is_typed(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    // Unicode has the ten digits of each script in a row, which begins with this zero.
    let in_script = |zero: u32, code: &str| -> String {
        let digit = |it: char| char::from_u32(u32::from(it) - u32::from('0') + zero);
        code.chars().filter_map(digit).collect()
    };
    let typed: [&(dyn Fn(&str) -> String + Sync); 7] = [
        &|code| format!("{} {}", &code[..3], &code[3..]),
        &|code| format!(" {code}\n"),
        &|code| format!("{}-{}", &code[..3], &code[3..]),
        &|code| code.chars().flat_map(|digit| [digit, ' ']).collect(),
        &|code| in_script(0xff10, code),
        &|code| in_script(0x660, code),
        &|code| in_script(0x966, code),
    ];
    for typed in typed {
        app.database.forget_codes().await;
        ann.log_in_with_code(&app.bearer, &typed(&factor.code()))
            .await;
    }
    app.database.forget_codes().await;
    let code = factor.code();
    for wrong in [
        &*format!("{code}0"),
        &format!("0{code}"),
        &format!("+{code}"),
        &code[..5],
    ] {
        expect_no_entry(&ann.try_code(&app.bearer, wrong).await, INVALID);
    }
}
