//! Tests the page that asks for a one-time code after the right password.

use super::{
    FORM_TYPE, File, HTTPS, LOOPBACK, SAME_ORIGIN, cookies, fetch, form, gateway, get, request,
};

use auth_fixture::recovery_code;
use axum::Router;

const FIELD: &str = r#"<input name="otp" inputmode="numeric" autocomplete="one-time-code""#;
const PASSWORD: &str = r#"type="password""#;
const ENDED: &str = "This sign-in has ended. Sign in again.";

/// Returns the token of a pending sign-in from the page that asks for its code.
fn pending_of(page: &File) -> String {
    let (_, field) = page
        .text
        .split_once(r#"name="pending_sign_in" value=""#)
        .expect("the field");
    let (token, _) = field.split_once('"').expect("a closed value");
    assert!(token.starts_with("rgp_"), "{token}");
    token.to_owned()
}

/// Begins a sign-in with the right password, and returns its token as a field of a form.
async fn begin(router: &Router) -> String {
    let body = "username=enrolled&password=right&return=%2Fa";
    let page = fetch(router, form("/sign-in", body)).await;
    format!("pending_sign_in={}", pending_of(&page))
}

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
    assert!(
        page.text
            .contains("You are signing in as <strong>enrolled</strong>.")
    );
    assert!(!page.text.contains("right"), "{}", page.text);
    let with_spaces = recovery_code("enrolled", 0).replace('-', "+");
    let with_hyphens = recovery_code("enrolled", 1);
    for sent in [
        format!("otp={with_spaces}"),
        format!("recovery_code={with_hyphens}&otp="),
    ] {
        let pending = begin(&router).await;
        let body = format!("username=enrolled&{pending}&{sent}&return=%2Fa");
        let response = fetch(&router, form("/sign-in", &body)).await;
        assert_eq!(
            (response.status, response.header("location")),
            (303, "/a"),
            "{sent}"
        );
        assert_eq!(cookies(&response).len(), 2, "{sent}");
    }
}

#[tokio::test]
async fn a_wrong_code_keeps_the_page_of_the_code_and_an_ended_sign_in_begins_again() {
    let router = gateway(&[]).0;
    let here = &*begin(&router).await;
    let headers = [("host", "app.example.org"), HTTPS, SAME_ORIGIN, FORM_TYPE];
    let body = "username=enrolled&password=right";
    let page = fetch(&router, request("POST", "/sign-in", &headers, body)).await;
    let elsewhere = &*format!("pending_sign_in={}", pending_of(&page));
    let right_code = &*format!("&otp={}", recovery_code("enrolled", 0));
    for (pending, code, status, reason, problem, stays) in [
        (
            here,
            "",
            401,
            "OTP_REQUIRED",
            "One-time code required.",
            true,
        ),
        (
            here,
            "&otp=+",
            401,
            "OTP_REQUIRED",
            "One-time code required.",
            true,
        ),
        (
            here,
            "&otp=hunter3",
            401,
            "OTP_INVALID",
            "Invalid one-time code.",
            true,
        ),
        (
            here,
            "&recovery_code=hunter3",
            401,
            "OTP_INVALID",
            "Invalid one-time code.",
            true,
        ),
        (
            here,
            "&otp=flood",
            429,
            "TOO_MANY_ATTEMPTS",
            "Too many attempts, try again later. You can try again in 7 s.",
            true,
        ),
        (elsewhere, right_code, 401, "TOKEN_INVALID", ENDED, false),
        (
            "pending_sign_in=",
            right_code,
            401,
            "TOKEN_INVALID",
            ENDED,
            false,
        ),
        (
            "pending_sign_in=%22%3E%3Cscript%3E",
            right_code,
            401,
            "TOKEN_INVALID",
            ENDED,
            false,
        ),
        (
            "pending_sign_in=rgs_user",
            right_code,
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
    let (token, code) = (pending_of(&page), recovery_code("enrolled", 0));
    let body = format!("username=enrolled&pending_sign_in={token}&otp={code}");
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
    assert!(calls.all().is_empty());
}

/// A replica of the previous release may have sent the form that is submitted here.
#[tokio::test]
async fn a_form_with_password_and_code_together_signs_in_too() {
    let router = gateway(&[]).0;
    let code = recovery_code("enrolled", 0);
    for body in [
        &*format!("username=enrolled&password=right&otp={code}&return=%2Fa"),
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
