//! The sign-in page for users with a second factor: the right password leads to a page that asks
//! only for the code.

use super::{INVALID, ON, REQUIRED, WRONG_PASSWORD, confirm};
use crate::sign_in::{OWN_PAGE, cookie_of, form_of, get, submit};
use e2e::{Api, TestResponse, TestSetup, TestUser, for_all_deployments};
use reqwest::Url;

for_all_deployments!(the_page_asks_for_a_code_only_who_knows_the_password);

const BACK: &str = "/console/#/posts";
pub(super) const ENDED: &str = "This sign-in has ended. Sign in again.";

/// Sends the form of the first page, with this password.
pub(super) async fn send_password(
    api: &Api,
    username: &str,
    password: &str,
    headers: &[(&str, &str)],
) -> TestResponse {
    let form = form_of(username, password, BACK);
    submit(api, "/sign-in", &form, &[&[OWN_PAGE], headers].concat()).await
}

/// Sends the form of the page that asks for the code.
pub(super) async fn send_code(
    api: &Api,
    pending: &str,
    otp: &str,
    headers: &[(&str, &str)],
) -> TestResponse {
    let fields = [
        ("username", "ann"),
        ("pending_sign_in", pending),
        ("otp", otp),
        ("return", BACK),
    ];
    let mut form = Url::parse("http://form").expect("a URL");
    form.query_pairs_mut().extend_pairs(fields);
    let form = form.query().expect("fields");
    submit(api, "/sign-in", form, &[&[OWN_PAGE], headers].concat()).await
}

/// Returns the secret of the pending sign-in, which is in the page that asks for the code.
#[track_caller]
pub(super) fn pending_of(page: &TestResponse) -> String {
    expect_page(page, "", true);
    let (_, rest) = page
        .expect(200)
        .body
        .split_once(r#"name="pending_sign_in" value=""#)
        .expect("a field");
    let pending = rest.split('"').next().expect("a value");
    assert!(pending.starts_with("rgp_") && pending.len() == 47, "{page}");
    pending.to_owned()
}

/// Begins a pending sign-in of this user and returns its secret.
pub(super) async fn begin(api: &Api, user: &TestUser) -> String {
    pending_of(&send_password(api, &user.username, &user.password, &[]).await)
}

/// Asserts that the page signs nobody in, shows this problem, and asks for the code or for the
/// password.
#[track_caller]
pub(super) fn expect_page(page: &TestResponse, problem: &str, asks_for_code: bool) {
    page.expect_header("set-cookie", None)
        .expect_header("cache-control", Some("no-store"));
    let alert = format!(r#"role="alert">{problem}</p>"#);
    assert!(page.body.contains(&alert), "{page}");
    for (field, is_there) in [
        (r#"autocomplete="one-time-code""#, asks_for_code),
        (r#"name="pending_sign_in""#, asks_for_code),
        (r#"type="password""#, !asks_for_code),
    ] {
        assert_eq!(page.body.contains(field), is_there, "{field}: {page}");
    }
}

/// Asserts that the code did not sign the user in.
#[track_caller]
pub(super) fn expect_refused(page: &TestResponse, reason: &str, problem: &str) {
    page.expect(401)
        .expect_header("rolegate-reason", Some(reason));
    expect_page(page, problem, reason != "TOKEN_INVALID");
}

async fn the_page_asks_for_a_code_only_who_knows_the_password(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let api = &app.bearer;
    // While the second factor is only begun, the page does not ask for a code.
    let factor = ann.begin_second_factor(api).await;
    cookie_of(&send_password(api, "ann", &ann.password, &[]).await);
    let own = api.with_token(&ann.token);
    confirm(&own, &factor.code()).await.expect_message(ON);
    expect_page(&get(api, "/sign-in", &[]).await, "", false);
    let wrong = send_password(api, "ann", "wrong", &[]).await;
    wrong
        .expect(401)
        .expect_header("rolegate-reason", Some("CREDENTIALS_INVALID"));
    expect_page(&wrong, WRONG_PASSWORD, false);

    let pending = begin(api, &ann).await;
    for blank in ["", " "] {
        let asked = send_code(api, &pending, blank, &[]).await;
        expect_refused(&asked, "OTP_REQUIRED", REQUIRED);
    }
    let refused = send_code(api, &pending, &factor.totp.wrong(), &[]).await;
    expect_refused(&refused, "OTP_INVALID", INVALID);
    assert!(refused.body.contains(&pending), "{refused}");
    let code = factor.next_code();
    let typed = format!("{} {}", &code[..3], &code[3..]);
    let mut pending = pending;
    for otp in [&typed, &factor.recovery_codes[0]] {
        let signed_in = send_code(api, &pending, otp, &[]).await;
        signed_in.expect_header("location", Some(BACK));
        let cookie = cookie_of(&signed_in);
        let me = get(api, "/me", &[OWN_PAGE, ("cookie", cookie.as_str())]).await;
        assert_eq!(me.expect(200).json()["username"], "ann");
        let again = send_code(api, &pending, &factor.recovery_codes[1], &[]).await;
        expect_refused(&again, "TOKEN_INVALID", ENDED);
        pending = begin(api, &ann).await;
        let used = send_code(api, &pending, otp, &[]).await;
        expect_refused(&used, "OTP_INVALID", INVALID);
    }
    // Programs of the previous version send the password and the code at once.
    let form = form_of("ann", &ann.password, BACK) + "&otp=" + &factor.recovery_codes[2];
    cookie_of(&submit(api, "/sign-in", &form, &[OWN_PAGE]).await);
}
