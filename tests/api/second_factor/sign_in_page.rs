//! The page where people sign in, and who has a second factor.

use super::{INVALID, ON, REQUIRED, WRONG_PASSWORD, confirm};
use crate::sign_in::{OWN_PAGE, cookie_of, form_of, get, submit};
use e2e::{TestApp, TestResponse, TestSetup, for_all_deployments};

for_all_deployments!(the_page_asks_for_a_code_only_who_knows_the_password);

async fn sign_in(app: &TestApp, password: &str, otp: Option<&str>) -> TestResponse {
    let mut form = form_of("ann", password, "/console/#/posts");
    if let Some(otp) = otp {
        form += "&otp=";
        form += &otp.replace(' ', "+");
    }
    submit(&app.bearer, "/sign-in", &form, &[OWN_PAGE]).await
}

#[track_caller]
fn expect_page(response: &TestResponse, reason: &str, text: &str, asks: bool) {
    response
        .expect(401)
        .expect_header("rolegate-reason", Some(reason));
    response.expect_header("set-cookie", None);
    assert!(
        response
            .body
            .contains(&format!(r#"role="alert">{text}</p>"#)),
        "{response}"
    );
    assert_eq!(response.body.contains(r#"name="otp""#), asks, "{response}");
    assert!(response.body.contains(r#"value="ann""#), "{response}");
}

async fn the_page_asks_for_a_code_only_who_knows_the_password(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    // Begun, it is not asked for.
    let factor = ann.begin_second_factor(&app.bearer).await;
    cookie_of(&sign_in(&app, &ann.password, None).await);
    let own = app.bearer.with_token(&ann.token);
    confirm(&own, &factor.code()).await.expect_message(ON);
    assert!(
        !get(&app.bearer, "/sign-in", &[])
            .await
            .expect(200)
            .body
            .contains(r#"name="otp""#)
    );
    let wrong = sign_in(&app, "wrong", None).await;
    expect_page(&wrong, "CREDENTIALS_INVALID", WRONG_PASSWORD, false);
    for otp in [None, Some("")] {
        let asked = sign_in(&app, &ann.password, otp).await;
        expect_page(&asked, "OTP_REQUIRED", REQUIRED, true);
    }
    let refused = sign_in(&app, &ann.password, Some(&factor.totp.wrong())).await;
    expect_page(&refused, "OTP_INVALID", INVALID, true);
    let code = factor.next_code();
    let typed = format!("{} {}", &code[..3], &code[3..]);
    for otp in [&typed, &factor.recovery_codes[0]] {
        let cookie = cookie_of(&sign_in(&app, &ann.password, Some(otp)).await);
        let me = get(&app.bearer, "/me", &[OWN_PAGE, ("cookie", cookie.as_str())]).await;
        assert_eq!(me.expect(200).json()["username"], "ann");
        let again = sign_in(&app, &ann.password, Some(otp)).await;
        expect_page(&again, "OTP_INVALID", INVALID, true);
    }
}
