//! Reads the texts of the pages for people, and chooses the language. Each language has a file in `texts/`.

use crate::html::escape;
use http::{HeaderMap, header::ACCEPT_LANGUAGE};
use std::{collections::HashMap, sync::LazyLock};

/// The texts of every file of `texts/`, English first. Add a new language here.
static LANGUAGES: LazyLock<Vec<Texts>> = LazyLock::new(|| {
    vec![
        Texts::read("en", include_str!("../texts/en.json")),
        Texts::read("de", include_str!("../texts/de.json")),
    ]
});

/// The texts of one language.
#[derive(Debug)]
pub struct Texts {
    /// The language tag, such as `en`.
    pub language: &'static str,
    /// The file's content: a JSON object of texts by their keys, such as `sign_in.title`.
    pub json: &'static str,
    by_key: HashMap<String, String>,
}

impl Texts {
    fn read(language: &'static str, json: &'static str) -> Self {
        let by_key =
            serde_json::from_str(json).expect("the files are embedded, and tests read them");
        Self {
            language,
            json,
            by_key,
        }
    }

    /// Returns the texts in English, which is also the language of errors for programs.
    pub fn english() -> &'static Self {
        &LANGUAGES[0]
    }

    /// Returns the texts in the language that a browser prefers, or in English if there are no texts in a language that
    /// it accepts.
    pub fn preferred_by(headers: &HeaderMap) -> &'static Self {
        preferred(&LANGUAGES, headers).unwrap_or(Self::english())
    }

    /// Returns the headers of a page with these texts, so that caches keep the languages apart.
    pub const fn headers(&self) -> [(&'static str, &'static str); 2] {
        [
            ("content-language", self.language),
            ("vary", "Accept-Language"),
        ]
    }

    /// Returns the text with this key, if there is one. It may contain placeholders.
    pub fn find(&self, key: &str) -> Option<&str> {
        self.by_key.get(key).map(String::as_str)
    }

    /// Fills a template and returns HTML. `{sign_in.title}` becomes a text, and `{name}` becomes the value with this
    /// name. A text may contain placeholders for values.
    ///
    /// The values must be HTML already. Braces in them are not replaced.
    pub fn render(&self, template: &str, values: &[(&str, &str)]) -> String {
        let mut html = String::new();
        let mut rest = template;
        while let Some((before, placeholder)) = rest.split_once('{')
            && let Some((name, after)) = placeholder.split_once('}')
        {
            html += before;
            if let Some((_, value)) = values.iter().find(|(it, _)| *it == name) {
                html += value;
            } else if let Some(text) = self.find(name) {
                html += &self.render(&escape(text), values);
            }
            rest = after;
        }
        html + rest
    }
}

/// Returns the language with the greatest quality in `Accept-Language` (RFC 9110, section 12.5.4), and the first one
/// among equals.
///
/// A range such as `de-AT` also matches `de` (RFC 4647, section 3.4), and `*` matches the first language.
fn preferred<'a>(languages: &'a [Texts], headers: &HeaderMap) -> Option<&'a Texts> {
    let lines = headers.get_all(ACCEPT_LANGUAGE).iter();
    let ranges = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(LanguageRange::parse);
    let mut best = None;
    let mut best_quality = 0.0;
    for LanguageRange { language, quality } in ranges {
        let found = languages
            .iter()
            .find(|it| language == it.language || language == "*");
        if found.is_some() && quality > best_quality {
            best = found;
            best_quality = quality;
        }
    }
    best
}

/// One range of `Accept-Language`.
struct LanguageRange {
    /// The language in lower case and without a region.
    language: String,
    /// The quality from 0 to 1. A language with 0 is not wanted.
    quality: f32,
}

impl LanguageRange {
    /// Reads a range such as `de-AT;q=0.8`. Returns `None` if it is malformed.
    fn parse(text: &str) -> Option<Self> {
        let (tag, parameter) = text.split_once(';').unwrap_or((text, "q=1"));
        let (name, quality) = parameter.split_once('=')?;
        let quality = quality.trim().parse().ok()?;
        let is_quality = name.trim().eq_ignore_ascii_case("q") && (0.0..=1.0).contains(&quality);
        let language = tag.trim().split('-').next()?.to_ascii_lowercase();
        is_quality.then_some(Self { language, quality })
    }
}

#[cfg(test)]
mod tests;
