//! Tests the language of the pages, and that no text is missing or unused.

use super::{
    DOMAIN, FORM_TYPE, File, HTTPS, LOOPBACK, SAME_ORIGIN, fetch, reading_gateway, request,
};
use rolegate_proto::{Reason, http::HttpReason};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Every page and file that is in the person's language.
const LOCALIZED: [&str; 10] = [
    "/sign-in",
    "/sign-in?return=/a&unsaved",
    "/sign-out",
    "/set-password",
    "/account",
    "/account/account_page.js",
    "/sign-in/set_password.js",
    "/sign-in/refused",
    "/sign-in/ambiguous-address",
    "/console/main.js",
];

async fn get(arguments: &[&str], path: &str, headers: &[(&str, &str)]) -> File {
    fetch(
        &reading_gateway(arguments),
        request("GET", path, headers, ""),
    )
    .await
}

#[tokio::test]
async fn every_page_says_its_language_and_that_it_depends_on_that_of_the_browser() {
    let asked = [
        &[][..],
        &[("accept-language", "tlh, en-GB;q=0.5")],
        &[("accept-language", "tlh")],
        &[("accept-language", "\u{e9}")],
    ];
    for path in LOCALIZED {
        for language in asked {
            let page = get(&[], path, &[&[LOOPBACK], language].concat()).await;
            assert_eq!(page.header("content-language"), "en", "{path}");
            let vary = page.headers.get_all("vary").iter();
            assert!(
                vary.into_iter().any(|value| value == "Accept-Language"),
                "{path}: {:?}",
                page.headers
            );
            let is_page = page.header("content-type").starts_with("text/html");
            assert_eq!(page.text.contains("<html lang=\"en\">"), is_page, "{path}");
        }
    }
    for insecure in [&[("host", "example.org")][..], &[("host", "10.0.0.1")]] {
        for path in ["/sign-in", "/set-password", "/account"] {
            let page = get(&[], path, insecure).await;
            assert_eq!(page.header("content-language"), "en", "{path}");
            assert!(page.text.contains("needs HTTPS"), "{}", page.text);
        }
    }
}

#[tokio::test]
async fn a_cached_page_says_all_the_same_that_it_depends_on_the_language() {
    for path in ["/set-password", "/account", "/account/account_page.js"] {
        let page = get(&[], path, &[LOOPBACK]).await;
        let known = [LOOPBACK, ("if-none-match", page.header("etag"))];
        let cached = get(&[], path, &known).await;
        assert_eq!((cached.status, cached.text.as_str()), (304, ""), "{path}");
        assert_eq!(cached.header("vary"), page.header("vary"), "{path}");
        assert_ne!(cached.header("vary"), "", "{path}");
    }
}

#[tokio::test]
async fn no_page_has_a_placeholder_or_the_key_of_a_text_in_any_language() {
    let problems = "?unsaved&two_sessions&username=ann";
    let long = format!("?too_long&return=/{}", "a".repeat(3000));
    let frame = ("sec-fetch-dest", "iframe");
    let signed_in = ("cookie", "__Host-rolegate=rgs_app_user");
    let pages = [
        ("/sign-in", &[LOOPBACK][..]),
        (&format!("/sign-in{problems}"), &[LOOPBACK]),
        (&format!("/sign-in{long}"), &[LOOPBACK]),
        ("/sign-in?return=https://evil.example", &[LOOPBACK]),
        ("/sign-in", &[("host", "example.org"), HTTPS, signed_in]),
        ("/sign-in?return=/a", &[LOOPBACK, frame]),
        ("/sign-in", &[("host", "example.org")]),
        (
            "/sign-in",
            &[LOOPBACK, ("x-forwarded-proto", "https, http")],
        ),
        ("/sign-out?return=https://evil.example", &[LOOPBACK]),
        ("/set-password", &[LOOPBACK]),
        ("/account", &[LOOPBACK]),
        ("/sign-in/refused", &[LOOPBACK]),
        (
            "/sign-in/refused",
            &[("host", "example.org"), HTTPS, signed_in],
        ),
        ("/sign-in/ambiguous-address", &[LOOPBACK]),
    ];
    let keys = texts("en").into_keys().collect::<Vec<_>>();
    for (path, headers) in pages {
        for (arguments, language) in [(&[][..], "en"), (&DOMAIN, "en"), (&DOMAIN, "de")] {
            let headers = [headers, &[("accept-language", language)]].concat();
            let page = get(arguments, path, &headers).await;
            assert_eq!(page.header("content-language"), language, "{path}");
            assert!(!page.text.contains(['{', '}']), "{path}: {}", page.text);
            for key in &keys {
                assert!(!page.text.contains(key), "{path}: {key}: {}", page.text);
            }
        }
    }
}

#[tokio::test]
async fn a_german_browser_gets_german_pages_and_a_german_reason() {
    let german = ("accept-language", "de-AT, en;q=0.5");
    for (path, sentence) in [
        ("/sign-in", "<h1>Anmelden</h1>"),
        (
            "/sign-out",
            "Danach müssen Sie sich in diesem Browser neu anmelden.",
        ),
        ("/set-password", "<h1>Passwort wählen</h1>"),
        ("/account", "<title>Konto"),
        ("/sign-in/refused", "Sie dürfen diese Seite nicht öffnen."),
        (
            "/sign-in/ambiguous-address",
            "Diese Adresse ist nicht eindeutig",
        ),
    ] {
        let page = get(&[], path, &[LOOPBACK, german]).await;
        assert_eq!(page.header("content-language"), "de", "{path}");
        assert!(page.text.contains("<html lang=\"de\">"), "{path}");
        assert!(page.text.contains(sentence), "{path}: {}", page.text);
    }
    let headers = [LOOPBACK, german, SAME_ORIGIN, FORM_TYPE];
    let form = "username=ann&password=wrong";
    let refused = fetch(
        &reading_gateway(&[]),
        request("POST", "/sign-in", &headers, form),
    )
    .await;
    assert_eq!(refused.status, 401, "{}", refused.text);
    assert!(
        refused
            .text
            .contains("Benutzername oder Passwort ist falsch."),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn the_console_is_in_english_for_a_german_browser_too() {
    let german = ("accept-language", "de");
    for path in ["/console/", "/console/main.js"] {
        let file = get(&[], path, &[LOOPBACK, german]).await;
        assert_eq!(file.header("content-language"), "en", "{path}");
    }
}

#[tokio::test]
async fn the_scripts_get_exactly_the_texts_of_the_file() {
    for (path, language) in [
        ("/account/account_page.js", "en"),
        ("/account/account_page.js", "de"),
        ("/sign-in/set_password.js", "en"),
        ("/sign-in/set_password.js", "de"),
        ("/console/main.js", "en"),
    ] {
        let headers = [LOOPBACK, ("accept-language", language)];
        let file = get(&[], path, &headers).await;
        assert_eq!(
            file.header("content-type"),
            "text/javascript; charset=utf-8"
        );
        let json = file
            .text
            .lines()
            .find_map(|line| line.strip_prefix("const texts = "))
            .and_then(|it| it.strip_suffix(';'));
        let read: BTreeMap<String, String> =
            serde_json::from_str(json.expect("one object")).expect("JSON");
        assert_eq!(read, texts(language), "{path}: {language}");
    }
}

/// Returns the texts in a language.
fn texts(language: &str) -> BTreeMap<String, String> {
    let file = format!("crates/sign-in/texts/{language}.json");
    let json = fs::read_to_string(repository().join(file)).expect("the file");
    serde_json::from_str(&json).expect("texts")
}

fn repository() -> PathBuf {
    let gateway = Path::new(env!("CARGO_MANIFEST_DIR"));
    gateway.parent().expect("the repository").to_owned()
}

/// Returns the sources of the pages, without tests.
fn sources() -> Vec<(PathBuf, String)> {
    let mut sources = Vec::new();
    let mut folders = ["gateway/console", "gateway/src", "crates/sign-in/src"]
        .map(|folder| repository().join(folder))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.expect("a name").to_owned();
            if name.starts_with("test") && !name.starts_with("texts") || name == "docs_ui" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("text");
                let product = text.split("#[cfg(test)]").next().unwrap_or_default();
                sources.push((path, product.to_owned()));
            }
        }
    }
    sources
}

/// Finds the keys of texts in a source: they are between quotes, or between the braces of a template.
fn used<'a>(source: &'a str, groups: &BTreeSet<&str>) -> Vec<&'a str> {
    let is_key = |part: &&str| {
        let is_plain = |character: char| character.is_ascii_lowercase() || "._".contains(character);
        let group = part.split_once('.').map(|(group, _)| group);
        group.is_some_and(|group| groups.contains(group)) && part.chars().all(is_plain)
    };
    let parts = source.split(['"', '{', '}']);
    // Names of files look the same. So do the groups to which the program adds a name.
    let is_other = |part: &&str| {
        [".css", ".html", ".js", "."]
            .iter()
            .any(|end| part.ends_with(end))
    };
    parts
        .filter(is_key)
        .filter(|part| !is_other(part))
        .collect()
}

#[test]
fn every_text_is_used_and_every_text_that_is_used_exists() {
    let texts = texts("en");
    let groups = texts.keys().filter_map(|key| key.split('.').next());
    let groups: BTreeSet<&str> = groups.collect();
    let sources = sources();
    let mut all = BTreeSet::new();
    for (path, source) in &sources {
        for key in used(source, &groups) {
            assert!(texts.contains_key(key), "{}: {key}", path.display());
            all.insert(key);
        }
    }
    for key in texts.keys() {
        // These keys are made from the names of reasons and events, which other tests compare.
        let is_named = key.starts_with("reason.") || key.starts_with("event.");
        assert!(is_named || all.contains(key.as_str()), "{key} is not used");
    }
    // The scripts read these two groups as a whole.
    let reads = |file: &str, part: &str| {
        let source = sources.iter().find(|(path, _)| path.ends_with(file));
        source.is_some_and(|(_, source)| source.contains(part))
    };
    assert!(reads("console/texts.js", "`reason.${reason}`"));
    assert!(reads("console/audit_texts.js", "textsOf(\"event\")"));
}

#[test]
fn scripts_give_every_text_its_placeholders() {
    let texts = texts("en");
    for (path, source) in sources() {
        for call in source.split("say(\"").skip(1) {
            let (key, rest) = call.split_once('"').expect("a closed string");
            let end = rest.find(')').expect("a closed call");
            let text = texts.get(key).expect("it exists");
            for name in text
                .split('{')
                .skip(1)
                .filter_map(|it| it.split('}').next())
            {
                // The values may contain calls, so this looks a bit beyond the parenthesis.
                let values = &rest[..rest.len().min(end + 40)];
                assert!(values.contains(name), "{}: {key}: {name}", path.display());
            }
        }
    }
}

#[test]
fn the_texts_of_reasons_are_what_the_api_says() {
    for (key, text) in texts("en") {
        let Some(name) = key.strip_prefix("reason.") else {
            continue;
        };
        if let Some(reason) = Reason::from_name(name) {
            // One text for a reason with several details would hide which rule is broken.
            assert_eq!(reason.http_detail(), Some(text.as_str()), "{name}");
        } else {
            let of_http = HttpReason::ALL.iter().any(|reason| reason.as_str() == name);
            assert!(of_http, "{name} is no reason");
        }
    }
}
