//! Which brands are accepted, and what the pages make of them.

use super::{Brand, Design, Texts, help, title};

/// A page with this title and this help.
fn page(brand: &Brand) -> String {
    let design = Design {
        texts: Texts::english(),
        brand,
    };
    design.page("https://auth.example.org", "{sign_in.title}", "content\n")
}

#[test]
fn a_title_is_one_line_of_at_most_64_characters_without_a_colon() {
    for good in ["A", "Müller & Söhne", "ACME <Intern>", "株式会社", "a  b"] {
        assert_eq!(title(good).as_deref(), Ok(good));
    }
    assert!(title(&"é".repeat(64)).is_ok());
    assert!(title(&"a".repeat(65)).is_err());
    for bad in [
        "",
        " ",
        " a",
        "a ",
        "a\u{a0}",
        "a\nb",
        "a\r",
        "a\0",
        "a\tb",
        "a\u{7f}",
        "a\u{2028}b",
        "a:b",
        ":",
    ] {
        assert!(title(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn help_is_a_line_of_text_or_an_address_that_becomes_a_link() {
    for text in [
        "Call 1234",
        "Room: 5, first floor",
        "Ask Ann (ann@example.org)",
        "See https://help.example.org",
        "https://help.example.org and 1234",
        "javascript: alert(1)",
        "<b>",
    ] {
        assert_eq!(help(text).as_deref(), Ok(text));
    }
    for address in [
        "https://help.example.org",
        "HTTPS://Help.example.org/a?b#c",
        "mailto:help@example.org",
        "Mailto:help@example.org?subject=Sign-in",
    ] {
        assert_eq!(help(address).as_deref(), Ok(address));
    }
    assert!(help(&"é".repeat(200)).is_ok());
    for bad in [
        "",
        " a",
        "a\nb",
        "a\u{2029}b",
        "http://help.example.org",
        "ftp://help.example.org",
        "tel:1234",
        "javascript:alert(1)",
        "data:text/html,a",
        "https://",
        "https://me@help.example.org",
        "mailto:",
        "mailto:help",
    ] {
        assert!(help(bad).is_err(), "{bad:?}");
    }
    assert!(help(&"a".repeat(201)).is_err());
}

#[test]
fn text_with_an_address_in_it_is_no_link() {
    for text in ["https://help.example.org and 1234", "javascript: alert(1)"] {
        let brand = Brand {
            sign_in_title: None,
            sign_in_help: Some(text.to_owned()),
        };
        let html = page(&brand);
        let part = format!(r#"<p class="help">{text}</p>"#);
        assert!(html.contains(&part), "{part}: {html}");
    }
}

#[test]
fn a_page_without_a_brand_is_that_of_rolegate() {
    let html = page(&Brand::default());
    for part in [
        "<title>Sign in · Rolegate</title>",
        r#"<img src="https://auth.example.org/sign-in/logo" alt=""><span></span>"#,
        r#"<p class="help"></p>"#,
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn a_brand_is_text_on_the_page_and_an_address_a_link() {
    let brand = |help: &str| Brand {
        sign_in_title: Some("<b>\"{sign_in.title}".to_owned()),
        sign_in_help: Some(help.to_owned()),
    };
    let html = page(&brand("<i>' {host}"));
    for part in [
        "<title>Sign in · &lt;b&gt;&quot;{sign_in.title}</title>",
        "<span>&lt;b&gt;&quot;{sign_in.title}</span>",
        r#"<p class="help">&lt;i&gt;&#39; {host}</p>"#,
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    for (address, link) in [
        (
            "https://help.example.org/?a&b",
            "https://help.example.org/?a&amp;b",
        ),
        ("mailto:help@example.org", "mailto:help@example.org"),
        ("HTTPS://Help.example.org", "https://help.example.org/"),
    ] {
        let part = format!(r#"<a href="{link}" target="_blank" rel="noreferrer">Get help</a>"#);
        let html = page(&brand(address));
        assert!(html.contains(&part), "{part}: {html}");
    }
}
