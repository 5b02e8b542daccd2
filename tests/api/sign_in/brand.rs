//! The operator's title, logo and help text on the pages, and the language of the pages.

use super::{HTTPS, get};
use e2e::{TestSetup, for_two_deployments};
use std::fs;

for_two_deployments!(people_see_the_brand_of_the_operator_and_a_language_that_they_read);

const LOGO: &str = r#"<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1v1z"/></svg>"#;

async fn people_see_the_brand_of_the_operator_and_a_language_that_they_read(setup: TestSetup) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("logo.svg");
    fs::write(&file, LOGO).expect("written");
    let app = setup
        .with("SIGN_IN_TITLE", "A & B")
        .with("SIGN_IN_HELP", "mailto:help@example.org")
        .with_file("SIGN_IN_LOGO_FILE", &file)
        .start()
        .await;
    let headers = [&HTTPS[..], &[("accept-language", "tlh, en-GB;q=0.5")]].concat();
    for path in ["/sign-in", "/sign-out", "/set-password", "/account"] {
        let page = get(&app.bearer, path, &headers).await;
        page.expect(200)
            .expect_header("content-language", Some("en"))
            .expect_header("vary", Some("Accept-Language"));
        for part in [
            "<html lang=\"en\">",
            " · A &amp; B</title>",
            "<span>A &amp; B</span>",
            "<a href=\"mailto:help@example.org\" target=\"_blank\" rel=\"noreferrer\">Get help</a>",
        ] {
            assert!(page.body.contains(part), "{path}: {part}: {page}");
        }
    }
    let logo = get(&app.bearer, "/sign-in/logo", &HTTPS).await;
    logo.expect(200)
        .expect_header("content-type", Some("image/svg+xml"))
        .expect_header("x-content-type-options", Some("nosniff"))
        .expect_header(
            "content-security-policy",
            Some("default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        );
    assert_eq!(logo.body, LOGO);
}
