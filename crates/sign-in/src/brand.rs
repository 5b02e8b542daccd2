//! Reads the title and the help text that the operator puts on the pages for people.

use clap::Args;
use url::Url;

/// The maximum length of the title, in Unicode scalar values.
const MAX_TITLE_CHARS: usize = 64;
/// The maximum length of the help text, in Unicode scalar values.
const MAX_HELP_CHARS: usize = 200;

/// The brand that pages have if the operator sets none.
pub(crate) static NO_BRAND: Brand = Brand {
    sign_in_title: None,
    sign_in_help: None,
};

/// The settings for the operator's own title and help text on the pages.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Browsers")]
pub struct Brand {
    /// Name on the sign-in pages and in authenticator applications, at most 64 characters
    #[arg(long, env, value_parser = parse_title)]
    pub sign_in_title: Option<String>,

    /// Where people get help, shown on the sign-in pages: a line of text, or an https or mailto address
    #[arg(long, env, value_parser = parse_help)]
    pub sign_in_help: Option<String>,
}

/// Parses a title: one line without a colon, because a colon separates the issuer from the username in the URL for
/// authenticator applications.
fn parse_title(text: &str) -> Result<String, &'static str> {
    if is_line(text, MAX_TITLE_CHARS) && !text.contains(':') {
        return Ok(text.to_owned());
    }
    Err("must be a line of 1 to 64 characters without a colon and without white space at its ends")
}

/// Parses a help text: a line of text, or a link. A single word with a colon is probably meant as a link, so it must be
/// one that people can open.
fn parse_help(text: &str) -> Result<String, &'static str> {
    let is_text = text.contains(char::is_whitespace) || !text.contains(':');
    if is_line(text, MAX_HELP_CHARS) && (is_text || parse_link(text).is_some()) {
        return Ok(text.to_owned());
    }
    Err("must be a line of 1 to 200 characters: text, or an https or mailto address")
}

/// Returns the URL of a help text that is a link, such as `mailto:help@example.org`. Returns `None` for help that is
/// shown as text.
pub(crate) fn parse_link(help: &str) -> Option<Url> {
    if help.contains(char::is_whitespace) {
        return None;
    }
    let url = Url::parse(help).ok()?;
    let is_link = match url.scheme() {
        "https" => url.username().is_empty(),
        "mailto" => url.path().contains('@'),
        _ => false,
    };
    is_link.then_some(url)
}

/// Tells whether the text is a single line of 1 to `max_chars` characters that neither begins nor ends with white
/// space.
fn is_line(text: &str, max_chars: usize) -> bool {
    let breaks_line = |char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}');
    let length = text.chars().count();
    (1..=max_chars).contains(&length) && text.trim() == text && !text.contains(breaks_line)
}

#[cfg(test)]
mod tests {
    use super::{parse_help, parse_title};

    #[test]
    fn a_title_is_one_line_of_at_most_64_characters_without_a_colon() {
        for good in ["A", "Müller & Söhne", "ACME <Intern>", "株式会社", "a  b"] {
            assert_eq!(parse_title(good).as_deref(), Ok(good));
        }
        assert!(parse_title(&"é".repeat(64)).is_ok());
        assert!(parse_title(&"a".repeat(65)).is_err());
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
            assert!(parse_title(bad).is_err(), "{bad:?}");
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
            assert_eq!(parse_help(text).as_deref(), Ok(text));
        }
        for address in [
            "https://help.example.org",
            "HTTPS://Help.example.org/a?b#c",
            "mailto:help@example.org",
            "Mailto:help@example.org?subject=Sign-in",
        ] {
            assert_eq!(parse_help(address).as_deref(), Ok(address));
        }
        assert!(parse_help(&"é".repeat(200)).is_ok());
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
            assert!(parse_help(bad).is_err(), "{bad:?}");
        }
        assert!(parse_help(&"a".repeat(201)).is_err());
    }
}
