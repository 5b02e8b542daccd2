//! Tests the page that asks for a one-time code after the right password.

use super::{
    FORM_TYPE, File, HTTPS, LOOPBACK, SAME_ORIGIN, cookies, fetch, form, gateway, get, request,
};

const FIELD: &str = r#"<input name="otp" inputmode="numeric" autocomplete="one-time-code""#;
const PASSWORD: &str = r#"type="password""#;
const ENDED: &str = "This sign-in has ended. Sign in again.";
/// The token of the fake's pending sign-in at this origin, as a field of a form.
const PENDING: &str = "pending_sign_in=rgp_at_http%3A%2F%2Flocalhost%3A8000";

/// Asserts a page with this problem, which asks either for the password or for the code.
#[track_caller]
fn expect_page(page: &File, problem: &str, asks_for_code: bool) {
    let alert = format!(r#"role="alert">{problem}</p>"#);
    assert!(page.text.contains(&alert), "{}", page.text);
    assert_eq!(page.text.contains(FIELD), asks_for_code, "{}", page.text);
    assert_eq!(
        page.text.contains(PASSWORD),
        !asks_for_code,
        "{}",
        page.text
    );
    assert_eq!(
        page.text.contains(r#"name="pending_sign_in""#),
        asks_for_code,
        "{}",
        page.text
    );
    // The token of a pending sign-in is in this page only.
    assert!(cookies(page).is_empty());
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("location"), "");
    let back = r#"name="return" value="/a""#;
    assert!(page.text.contains(back), "{}", page.text);
}

#[tokio::test]
async fn the_right_password_leads_to_a_page_with_the_code_alone() {
    let first = get("/sign-in?return=/a", &[LOOPBACK]).await;
    expect_page(&first, "", false);
    let router = gateway(&[]).0;
    let page = fetch(
        &router,
        form("/sign-in", "username=enrolled&password=right&return=%2Fa"),
    )
    .await;
    assert_eq!((page.status, page.header("rolegate-reason")), (200, ""));
    expect_page(&page, "", true);
    let pending = r#"name="pending_sign_in" value="rgp_at_http://localhost:8000""#;
    assert!(page.text.contains(pending), "{}", page.text);
    assert!(
        page.text
            .contains("You are signing in as <strong>enrolled</strong>.")
    );
    assert!(!page.text.contains("right"), "{}", page.text);
    for (sent, expected) in [("otp=123+456", 303), ("recovery_code=123-456&otp=", 303)] {
        let body = format!("username=enrolled&{PENDING}&{sent}&return=%2Fa");
        let response = fetch(&router, form("/sign-in", &body)).await;
        assert_eq!(
            (response.status, response.header("location")),
            (expected, "/a"),
            "{sent}"
        );
        assert_eq!(cookies(&response).len(), 2, "{sent}");
    }
}

#[tokio::test]
async fn a_wrong_code_keeps_the_page_of_the_code_and_an_ended_sign_in_begins_again() {
    let router = gateway(&[]).0;
    let elsewhere = "pending_sign_in=rgp_at_https%3A%2F%2Fapp.example.org";
    for (pending, code, status, reason, problem, stays) in [
        (
            PENDING,
            "",
            401,
            "OTP_REQUIRED",
            "One-time code required.",
            true,
        ),
        (
            PENDING,
            "&otp=+",
            401,
            "OTP_REQUIRED",
            "One-time code required.",
            true,
        ),
        (
            PENDING,
            "&otp=hunter3",
            401,
            "OTP_INVALID",
            "Invalid one-time code.",
            true,
        ),
        (
            PENDING,
            "&recovery_code=hunter3",
            401,
            "OTP_INVALID",
            "Invalid one-time code.",
            true,
        ),
        (
            PENDING,
            "&otp=flood",
            429,
            "TOO_MANY_ATTEMPTS",
            "Too many attempts, try again later. You can try again in 7 s.",
            true,
        ),
        (elsewhere, "&otp=123456", 401, "TOKEN_INVALID", ENDED, false),
        (
            "pending_sign_in=",
            "&otp=123456",
            401,
            "TOKEN_INVALID",
            ENDED,
            false,
        ),
        (
            "pending_sign_in=%22%3E%3Cscript%3E",
            "&otp=123456",
            401,
            "TOKEN_INVALID",
            ENDED,
            false,
        ),
        (
            "pending_sign_in=rgs_user",
            "&otp=123456",
            401,
            "TOKEN_INVALID",
            ENDED,
            false,
        ),
    ] {
        let body = format!("username=enrolled&{pending}{code}&return=%2Fa");
        let page = fetch(&router, form("/sign-in", &body)).await;
        assert_eq!(
            (page.status, page.header("rolegate-reason")),
            (status, reason),
            "{pending} {code}"
        );
        expect_page(&page, problem, stays);
        assert!(page.text.contains(r#"name="username" value="enrolled""#));
        assert!(
            !page.text.contains("hunter") && !page.text.contains("<script"),
            "{}",
            page.text
        );
    }
}

#[tokio::test]
async fn a_half_sign_in_is_bound_to_the_origin_of_its_page() {
    let router = gateway(&[
        "--cookie-domain",
        "example.org",
        "--sign-in-url",
        "https://auth.example.org/sign-in",
    ])
    .0;
    let send = async |host: &str, body: &str| {
        let headers = [("host", host), HTTPS, SAME_ORIGIN, FORM_TYPE];
        fetch(&router, request("POST", "/sign-in", &headers, body)).await
    };
    let page = send("auth.example.org", "username=enrolled&password=right").await;
    assert_eq!(page.status, 200);
    let token = "rgp_at_https://auth.example.org";
    assert!(
        page.text.contains(&format!(r#"value="{token}""#)),
        "{}",
        page.text
    );
    let body = format!("username=enrolled&pending_sign_in={token}&otp=123456");
    for (host, status) in [("app.example.org", 401), ("auth.example.org", 303)] {
        assert_eq!(send(host, &body).await.status, status, "{host}");
    }
}

#[tokio::test]
async fn fields_that_are_given_twice_ask_nobody() {
    let (router, calls) = gateway(&[]);
    for twice in [
        "password=right&otp=1&otp=2",
        "password=right&recovery_code=1&recovery_code=2",
        "pending_sign_in=rgp_a&pending_sign_in=rgp_b&otp=1",
        "otp=123456",
    ] {
        let body = format!("username=enrolled&{twice}");
        let page = fetch(&router, form("/sign-in", &body)).await;
        assert_eq!(
            (page.status, page.header("rolegate-reason")),
            (400, "FIELD_INVALID"),
            "{twice}"
        );
    }
    assert!(calls.lock().expect("no panic").is_empty());
}

/// A replica of the previous release may have sent the form that is submitted here.
#[tokio::test]
async fn a_form_with_password_and_code_together_signs_in_too() {
    let router = gateway(&[]).0;
    for body in [
        "username=enrolled&password=right&otp=123+456&return=%2Fa",
        "username=ann&password=right&otp=hunter3&return=%2Fa",
        "username=ann&password=right&otp=&return=%2Fa",
    ] {
        let response = fetch(&router, form("/sign-in", body)).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, "/a"),
            "{body}"
        );
        assert_eq!(cookies(&response).len(), 2, "{body}");
    }
    for (body, reason, problem) in [
        (
            "password=right&otp=1",
            "OTP_INVALID",
            "Invalid one-time code.",
        ),
        (
            "password=wrong&otp=123456",
            "CREDENTIALS_INVALID",
            "Invalid username or password.",
        ),
        (
            "password=wrong",
            "CREDENTIALS_INVALID",
            "Invalid username or password.",
        ),
    ] {
        let body = format!("username=enrolled&{body}&return=%2Fa");
        let page = fetch(&router, form("/sign-in", &body)).await;
        assert_eq!((page.status, page.header("rolegate-reason")), (401, reason));
        expect_page(&page, problem, false);
    }
}
