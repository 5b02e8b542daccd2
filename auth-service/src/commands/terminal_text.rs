//! Escapes texts from the database before they are shown on a terminal.
//!
//! A person with access to the database can store any text there. Some characters clear the screen,
//! change the direction of a line, or begin a new line that looks like output of the command.

use rolegate_proto::is_invisible;

/// Puts a text in double quotes. Characters that are invisible or end a line are escaped, and so
/// are double quotes and backslashes.
pub(crate) fn quote(text: &str) -> String {
    escape(&format!("{text:?}"))
}

/// Returns a word of visible ASCII characters unchanged, such as the name of an event or an
/// address. Puts any other text in quotes.
pub(crate) fn quote_unless_word(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_graphic() && !"\"'\\".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        quote(text)
    }
}

/// Escapes characters that are invisible or end a line.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_shown(character) {
            escaped.push(character);
        } else {
            escaped.extend(character.escape_unicode());
        }
    }
    escaped
}

/// Returns true if the character is visible on a terminal and does not change how its neighbors are
/// shown.
fn is_shown(character: char) -> bool {
    if matches!(character, '"' | '\'' | '\\') {
        return true;
    }
    // `escape_debug` escapes control characters, combining marks and every space except the
    // ordinary one. It treats filler characters as letters, so `is_invisible` detects those.
    character.escape_debug().len() == 1 && !is_invisible(character)
}

#[cfg(test)]
mod tests {
    use super::{escape, quote, quote_unless_word};

    /// Line breaks, terminal escapes, direction marks, a zero-width space, a filler character and
    /// other spaces.
    const HIDDEN: [char; 14] = [
        '\n',
        '\r',
        '\u{b}',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{9b}',
        '\u{a0}',
        '\u{200b}',
        '\u{202e}',
        '\u{2028}',
        '\u{2066}',
        '\u{3164}',
        '\u{e0041}',
    ];

    #[test]
    fn characters_that_are_invisible_or_forge_a_line_are_escaped() {
        for hidden in HIDDEN {
            let text = format!("a{hidden}b");
            for shown in [escape(&text), quote(&text), quote_unless_word(&text)] {
                assert!(!shown.contains(hidden), "{hidden:?}: {shown}");
                assert!(
                    shown.starts_with(['a', '"']) && shown.contains('\\'),
                    "{shown}"
                );
            }
        }
    }

    #[test]
    fn texts_that_are_visible_stay_as_they_are() {
        for text in [r#"{"from":"user","to":"author"}"#, r"a\b 'é' 日本 ש", "-"] {
            assert_eq!(escape(text), text);
        }
        for name in ["ann", "o\"neil é", "日本", "a b", "a\\b"] {
            assert_eq!(quote(name), format!("{name:?}"));
        }
        for event in ["role_changed", "127.0.0.1", "2001:db8::1", "-"] {
            assert_eq!(quote_unless_word(event), event);
        }
    }

    #[test]
    fn a_text_that_is_no_word_is_quoted_so_that_it_forges_no_column() {
        assert_eq!(
            quote_unless_word("login_ok  user 1"),
            "\"login_ok  user 1\""
        );
        assert_eq!(quote_unless_word(""), "\"\"");
        assert_eq!(quote_unless_word("a\"b"), r#""a\"b""#);
    }
}
