//! Tests the rules for titles and contents.

use super::PostContent;

const TITLE_LENGTH: &str = "Title must have 1 to 200 characters.";
const TITLE_CONTROL: &str = "Title must not contain control characters.";
const TITLE_BLANK: &str = "Title must not be all white space.";
const TITLE_INVISIBLE: &str = "Title must not contain invisible or unassigned characters.";
const CONTENT_LENGTH: &str = "Content must have 1 to 50000 characters.";
const CONTENT_NUL: &str = "Content must not contain NUL.";

fn check(title: &str, content: &str) -> Result<(), &'static str> {
    PostContent::new(title.to_owned(), content.to_owned()).map(drop)
}

#[test]
fn lengths_count_characters_not_bytes() {
    for character in ["a", "é", "漢", "🦀"] {
        assert_eq!(
            check(&character.repeat(200), &character.repeat(50_000)),
            Ok(())
        );
        assert_eq!(check(&character.repeat(201), "c"), Err(TITLE_LENGTH));
        assert_eq!(check("t", &character.repeat(50_001)), Err(CONTENT_LENGTH));
    }
    assert_eq!(check("", "c"), Err(TITLE_LENGTH));
    assert_eq!(check("t", ""), Err(CONTENT_LENGTH));
}

#[test]
fn title_is_one_visible_line() {
    for control in [
        "a\0",
        "a\nb",
        "\ta",
        "a\r",
        "\u{1b}[31m",
        "\u{7f}",
        "\u{85}",
    ] {
        assert_eq!(check(control, "c"), Err(TITLE_CONTROL), "{control:?}");
    }
    for blank in [" ", "  ", "\u{a0}", "\u{3000}"] {
        assert_eq!(check(blank, "c"), Err(TITLE_BLANK), "{blank:?}");
    }
    for fine in [" a ", "<script>", "'; DROP TABLE post; --", "%_\\", "👩‍👩‍👧"] {
        assert_eq!(check(fine, "c"), Ok(()), "{fine:?}");
    }
}

#[test]
fn invisible_characters_are_allowed_where_they_shape_visible_ones() {
    for invisible in [
        "Sale\u{200b}",
        "Sa\u{200d}le",
        "Sale\u{fe0f}",
        "S\u{200c}ale",
        "👩\u{fe0f}",
        "\u{202e}elaS",
        "a\u{ad}b",
        "a\u{2028}b",
        "a\u{378}",
        "\u{200d}a",
        "a\u{200d}",
        "a \u{200d}b",
        "a\u{200d}\u{200d}b",
        "\u{fe0f}",
        "a \u{fe0f}",
        "a\u{3164}b",
    ] {
        assert_eq!(check(invisible, "c"), Err(TITLE_INVISIBLE), "{invisible:?}");
    }
    for fine in [
        "I ❤\u{fe0f} Rust",
        "❤\u{fe0f}\u{200d}🔥",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
    ] {
        assert_eq!(check(fine, "c"), Ok(()), "{fine:?}");
    }
}

#[test]
fn content_rejects_only_nul() {
    for fine in ["\n", "a\r\n\tb", " ", "\u{1b}"] {
        assert_eq!(check("t", fine), Ok(()), "{fine:?}");
    }
    assert_eq!(check("t", "a\0b"), Err(CONTENT_NUL));
}
