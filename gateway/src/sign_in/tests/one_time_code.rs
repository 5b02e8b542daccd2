//! The field for a one-time code.

use super::{LOOPBACK, cookies, fetch, form, gateway, get};

const FIELD: &str = r#"<input name="otp" autocomplete="one-time-code""#;

#[tokio::test]
async fn field_is_there_once_a_code_is_asked_for_and_stays() {
    assert!(!get("/sign-in", &[LOOPBACK]).await.text.contains(FIELD));
    let (router, calls) = gateway(&[]);
    for (sent, reason, text, has_field) in [
        (
            "password=wrong",
            "CREDENTIALS_INVALID",
            "Invalid username or password.",
            false,
        ),
        (
            "password=right",
            "OTP_REQUIRED",
            "One-time code required.",
            true,
        ),
        (
            "password=right&otp=",
            "OTP_REQUIRED",
            "One-time code required.",
            true,
        ),
        (
            "password=right&otp=hunter3",
            "OTP_INVALID",
            "Invalid one-time code.",
            true,
        ),
        (
            "password=wrong&otp=hunter3",
            "CREDENTIALS_INVALID",
            "Invalid username or password.",
            true,
        ),
    ] {
        let body = format!("username=enrolled&{sent}&return=%2Fa");
        let page = fetch(&router, form("/sign-in", &body)).await;
        assert_eq!(
            (page.status, page.header("rolegate-reason")),
            (401, reason),
            "{sent}"
        );
        assert!(cookies(&page).is_empty());
        assert!(
            page.text.contains(&format!(r#"role="alert">{text}</p>"#)),
            "{}",
            page.text
        );
        assert_eq!(
            page.text.contains(FIELD),
            has_field,
            "{sent}: {}",
            page.text
        );
        assert!(
            page.text
                .contains(r#"<input name="username" value="enrolled" "#),
            "{}",
            page.text
        );
        assert!(
            page.text.contains(r#"name="return" value="/a""#),
            "{}",
            page.text
        );
        // Neither the password nor the code is shown again.
        assert!(
            !page.text.contains("right") && !page.text.contains("hunter"),
            "{}",
            page.text
        );
    }
    calls.lock().expect("no panic").clear();
    let body = "username=enrolled&password=right&otp=1&otp=2";
    let page = fetch(&router, form("/sign-in", body)).await;
    assert_eq!(
        (page.status, page.header("rolegate-reason")),
        (400, "FIELD_INVALID")
    );
    assert!(calls.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn a_code_signs_in_and_is_ignored_without_a_second_factor() {
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
}
