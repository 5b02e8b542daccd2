//! Tests how a title and a help text appear on pages.

use super::{Brand, Design, Texts};

/// Returns a page with this brand.
fn page(brand: &Brand) -> String {
    let design = Design {
        texts: Texts::english(),
        brand,
    };
    design.page("https://auth.example.org", "{sign_in.title}", "content\n")
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
