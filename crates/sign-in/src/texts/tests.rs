//! Tests which language a browser gets, how templates are filled, and that all languages have the same texts.

use super::{LANGUAGES, Texts, escape, preferred};
use http::{HeaderMap, HeaderValue, header::ACCEPT_LANGUAGE};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Returns the languages of this test: English, which is also the first of the files, and two others.
fn languages() -> Vec<Texts> {
    [
        ("en", r#"{"a.title": "Welcome, {user}"}"#),
        ("de", r#"{"a.title": "Willkommen, {user}"}"#),
        ("fr", r#"{"a.title": "Bienvenue, {user}"}"#),
    ]
    .map(|(language, json)| Texts::read(language, json))
    .into()
}

fn headers(lines: &[&str]) -> HeaderMap {
    let value = |line: &&str| HeaderValue::from_bytes(line.as_bytes()).expect("a value");
    let lines = lines.iter().map(value);
    lines.map(|value| (ACCEPT_LANGUAGE, value)).collect()
}

/// Returns the language that is chosen for these lines of `Accept-Language`, or an empty text if none of them is known.
fn chosen(lines: &[&str]) -> &'static str {
    let languages = languages();
    preferred(&languages, &headers(lines)).map_or("", |texts| texts.language)
}

#[test]
fn the_language_with_the_greatest_quality_is_chosen() {
    for (line, language) in [
        ("de", "de"),
        ("DE", "de"),
        ("de-AT", "de"),
        ("de-Latn-CH-1996", "de"),
        ("de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7", "de"),
        ("en-US,en;q=0.9,de;q=0.8", "en"),
        ("en;q=0.8, de", "de"),
        ("en;q=0.001, de;q=0.002", "de"),
        ("en ; q=0.3 , de ; Q=0.4", "de"),
        // Among equals, the first one wins.
        ("de, en", "de"),
        ("fr;q=0.5, de;q=0.5", "fr"),
        // These languages are not known.
        ("es, fr;q=0.2", "fr"),
        ("deu, fr;q=0.2", "fr"),
        ("es", ""),
        // The asterisk stands for any language.
        ("*", "en"),
        ("es, *;q=0.5", "en"),
        ("de;q=0.5, *;q=0.8", "en"),
        ("en, de, fr, *", "en"),
        // A language with quality 0 is not wanted.
        ("de;q=0", ""),
        ("de;q=0.0, fr;q=0.1", "fr"),
    ] {
        assert_eq!(chosen(&[line]), language, "{line}");
    }
    assert_eq!(chosen(&["es", "en;q=0.5", "de"]), "de");
    assert_eq!(chosen(&[]), "");
}

#[test]
fn a_malformed_part_of_the_header_is_passed_over() {
    for malformed in [
        "de;q=2",
        "de;q=-1",
        "de;q=NaN",
        "de;q=inf",
        "de;q=",
        "de;q",
        "de;",
        "de;level=1",
        "de;q=1;q=1",
        "d e",
        "",
        ";q=1",
        "../de",
        "de_DE",
        "d\u{e9}",
    ] {
        let line = format!("{malformed}, fr;q=0.1");
        let expected = if malformed.is_ascii() { "fr" } else { "" };
        assert_eq!(chosen(&[&line]), expected, "{malformed:?}");
        assert_eq!(chosen(&[malformed]), "", "{malformed:?}");
    }
    let long = format!("{}de", "x,".repeat(10_000));
    assert_eq!(chosen(&[&long]), "de");
}

#[test]
fn without_a_language_that_is_there_people_get_english() {
    for lines in [&[][..], &["tlh"], &["en;q=0"], &["de;q=NaN"]] {
        let texts = Texts::preferred_by(&headers(lines));
        assert_eq!(texts.language, "en", "{lines:?}");
    }
    assert_eq!(Texts::english().language, "en");
}

#[test]
fn a_text_of_the_chosen_language_stands_in_the_template() {
    for (line, html) in [
        ("de-DE, en;q=0.5", "<h1>Willkommen, <b>ann</b></h1>"),
        ("en", "<h1>Welcome, <b>ann</b></h1>"),
    ] {
        let languages = languages();
        let texts = preferred(&languages, &headers(&[line])).expect("a language");
        let rendered = texts.render("<h1>{a.title}</h1>", &[("user", "<b>ann</b>")]);
        assert_eq!(rendered, html);
    }
}

#[test]
fn texts_are_no_html_and_values_are_no_templates() {
    let texts = Texts::read("en", r#"{"a.text": "<script>\"'&{user}"}"#);
    assert_eq!(
        texts.render("{a.text}", &[("user", "{a.text}{user}")]),
        "&lt;script&gt;&quot;&#39;&amp;{a.text}{user}"
    );
    for (template, html) in [
        ("", ""),
        ("}{", "}{"),
        ("a { b", "a { b"),
        ("{a.missing}", ""),
        ("{}{user}{user}", "annann"),
    ] {
        assert_eq!(texts.render(template, &[("user", "ann")]), html);
    }
    assert_eq!(texts.find("a.missing"), None);
}

#[test]
fn text_is_escaped_for_elements_and_attributes() {
    assert_eq!(escape("plain"), "plain");
    assert_eq!(escape("<b>\"'&amp;"), "&lt;b&gt;&quot;&#39;&amp;amp;");
}

/// Returns the placeholders of each text of a file.
fn placeholders(texts: &Texts) -> BTreeMap<&str, BTreeSet<&str>> {
    let of_text = |text: &'static str| {
        let names = text.split('{').skip(1);
        names.map(|it| it.split_once('}').expect("a closed brace").0)
    };
    let texts: BTreeMap<&str, &str> = serde_json::from_str(texts.json).expect("texts");
    texts
        .into_iter()
        .map(|(key, text)| (key, of_text(text).collect()))
        .collect()
}

#[test]
fn every_language_has_the_keys_and_the_placeholders_of_english() {
    let english = placeholders(Texts::english());
    for texts in LANGUAGES.iter() {
        let theirs = placeholders(texts);
        assert_eq!(theirs, english, "{}", texts.language);
        for key in english.keys() {
            let text = texts.find(key).expect("compared");
            assert_eq!(text.trim(), text, "{}: {key}", texts.language);
            assert_ne!(text, "", "{}: {key}", texts.language);
            assert!(!text.contains('<'), "{}: {key}", texts.language);
            // A text with a placeholder for a text could contain itself.
            let leads_to_texts = theirs[key].iter().any(|name| name.contains('.'));
            assert!(!leads_to_texts, "{}: {key}", texts.language);
        }
    }
}

#[test]
fn every_file_of_texts_is_a_language_and_has_no_key_twice() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("texts");
    let entries = fs::read_dir(folder).expect("the folder");
    let present: BTreeSet<_> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.into_string().expect("a name"))
        .collect();
    let embedded: BTreeSet<_> = LANGUAGES
        .iter()
        .map(|texts| format!("{}.json", texts.language))
        .collect();
    assert_eq!(present, embedded);
    for Texts { language, json, .. } in LANGUAGES.iter() {
        let lines = json.lines().filter(|line| line.trim().starts_with('"'));
        let texts: BTreeMap<&str, &str> = serde_json::from_str(json).expect("texts");
        assert_eq!(
            lines.count(),
            texts.len(),
            "{language}: a key is there twice"
        );
    }
}
