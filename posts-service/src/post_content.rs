//! The content of a post, validated.

use rolegate_proto::{
    has_invisible, is_emoji, is_invisible,
    limits::{MAX_CONTENT_CHARS, MAX_TITLE_CHARS},
};

/// A valid title and content, both exactly as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostContent {
    pub(crate) title: String,
    pub(crate) content: String,
}

/// The violated rule. `Display` is the `detail` text of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostContentError {
    /// Empty, or more than 200 characters.
    #[error("Title must have 1 to 200 characters.")]
    TitleLength,
    /// A title is one line, without NUL, line breaks, tabs or escapes.
    #[error("Title must not contain control characters.")]
    TitleControl,
    /// It would be invisible.
    #[error("Title must not be all white space.")]
    TitleBlank,
    /// Such as a change of direction: displayed, it would look like another title.
    #[error("Title must not contain invisible or unassigned characters.")]
    TitleInvisible,
    /// Empty, or more than 50,000 characters.
    #[error("Content must have 1 to 50000 characters.")]
    ContentLength,
    /// PostgreSQL cannot store it.
    #[error("Content must not contain NUL.")]
    ContentNul,
}

impl PostContent {
    /// Validates the title, then the content.
    pub fn new(title: String, content: String) -> Result<Self, PostContentError> {
        if !is_length_valid(&title, MAX_TITLE_CHARS) {
            Err(PostContentError::TitleLength)
        } else if title.chars().any(char::is_control) {
            Err(PostContentError::TitleControl)
        } else if title.trim().is_empty() {
            Err(PostContentError::TitleBlank)
        } else if has_invisible(&title, joins) {
            Err(PostContentError::TitleInvisible)
        } else if !is_length_valid(&content, MAX_CONTENT_CHARS) {
            Err(PostContentError::ContentLength)
        } else if content.contains('\0') {
            Err(PostContentError::ContentNul)
        } else {
            Ok(Self { title, content })
        }
    }
}

fn is_length_valid(text: &str, max: usize) -> bool {
    !text.is_empty() && text.chars().nth(max).is_none()
}

/// Joiners make emoji, and shape letters of scripts from Arabic to Sinhala, of Myanmar, Khmer and
/// Mongolian. Elsewhere they show nothing.
fn joins(character: char) -> bool {
    let is_shaped = matches!(
        character,
        '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
    );
    is_emoji(character) || (is_shaped && !is_invisible(character))
}

#[cfg(test)]
mod tests {
    use super::{PostContent, PostContentError};

    fn check(title: &str, content: &str) -> Result<(), PostContentError> {
        PostContent::new(title.to_owned(), content.to_owned()).map(drop)
    }

    #[test]
    fn lengths_count_characters_not_bytes() {
        for character in ["a", "é", "漢", "🦀"] {
            assert_eq!(check(&character.repeat(200), &character.repeat(50_000)), Ok(()));
            assert_eq!(check(&character.repeat(201), "c"), Err(PostContentError::TitleLength));
            assert_eq!(check("t", &character.repeat(50_001)), Err(PostContentError::ContentLength));
        }
        assert_eq!(check("", "c"), Err(PostContentError::TitleLength));
        assert_eq!(check("t", ""), Err(PostContentError::ContentLength));
    }

    #[test]
    fn title_is_one_visible_line() {
        for control in ["a\0", "a\nb", "\ta", "a\r", "\u{1b}[31m", "\u{7f}", "\u{85}"] {
            assert_eq!(check(control, "c"), Err(PostContentError::TitleControl), "{control:?}");
        }
        for blank in [" ", "  ", "\u{a0}", "\u{3000}"] {
            assert_eq!(check(blank, "c"), Err(PostContentError::TitleBlank), "{blank:?}");
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
            assert_eq!(
                check(invisible, "c"),
                Err(PostContentError::TitleInvisible),
                "{invisible:?}"
            );
        }
        for fine in ["I ❤\u{fe0f} Rust", "❤\u{fe0f}\u{200d}🔥", "می\u{200c}خواهم", "क्\u{200d}ष"]
        {
            assert_eq!(check(fine, "c"), Ok(()), "{fine:?}");
        }
    }

    #[test]
    fn content_rejects_only_nul() {
        for fine in ["\n", "a\r\n\tb", " ", "\u{1b}"] {
            assert_eq!(check("t", fine), Ok(()), "{fine:?}");
        }
        assert_eq!(check("t", "a\0b"), Err(PostContentError::ContentNul));
    }
}
