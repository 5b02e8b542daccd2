//! What can be written.

/// A title and a content that keep the rules; both are taken exactly as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostContent {
    pub(crate) title: String,
    pub(crate) content: String,
}

/// The rule that a text breaks. Prints as a sentence for its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostContentError {
    /// Empty, or more than 200 characters.
    #[error("Title must have 1 to 200 characters.")]
    TitleLength,
    /// A title is one line: NUL, line breaks, tabs, escapes and their like.
    #[error("Title must not contain control characters.")]
    TitleControl,
    /// Nobody could see it, or click on it.
    #[error("Title must not be all white space.")]
    TitleBlank,
    /// Empty, or more than 50,000 characters.
    #[error("Content must have 1 to 50000 characters.")]
    ContentLength,
    /// PostgreSQL cannot store it.
    #[error("Content must not contain NUL.")]
    ContentNul,
}

impl PostContent {
    /// The longest title, in Unicode scalar values.
    pub const LONGEST_TITLE: usize = 200;
    /// The longest content, in Unicode scalar values.
    pub const LONGEST_CONTENT: usize = 50_000;

    /// Checks the rules, those of the title first.
    pub fn new(title: String, content: String) -> Result<Self, PostContentError> {
        if !has_characters(&title, Self::LONGEST_TITLE) {
            Err(PostContentError::TitleLength)
        } else if title.chars().any(char::is_control) {
            Err(PostContentError::TitleControl)
        } else if title.trim().is_empty() {
            Err(PostContentError::TitleBlank)
        } else if !has_characters(&content, Self::LONGEST_CONTENT) {
            Err(PostContentError::ContentLength)
        } else if content.contains('\0') {
            Err(PostContentError::ContentNul)
        } else {
            Ok(Self { title, content })
        }
    }
}

fn has_characters(text: &str, most: usize) -> bool {
    !text.is_empty() && text.chars().nth(most).is_none()
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
    fn a_title_is_one_line_that_can_be_seen() {
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
    fn content_may_be_anything_but_nul() {
        for fine in ["\n", "a\r\n\tb", " ", "\u{1b}"] {
            assert_eq!(check("t", fine), Ok(()), "{fine:?}");
        }
        assert_eq!(check("t", "a\0b"), Err(PostContentError::ContentNul));
    }
}
