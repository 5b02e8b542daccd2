//! Posts, the rules for titles and contents, and the policies for posts whose author was deleted.

use rolegate_proto::{
    has_invisible, is_emoji, is_invisible,
    limits::{MAX_CONTENT_CHARS, MAX_TITLE_CHARS},
};
use rolegate_sql_store::row;

row! {
    /// A post. It contains only the id of its author, because auth-service stores the usernames.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Post {
        /// The id, which is at least 1. The database assigns it and never reuses it.
        pub(crate) id: i64,
        /// The id of the author. It never changes, except to [`DELETED`] when the author is deleted and the post is
        /// kept.
        pub(crate) author_id: i64,
        /// The title exactly as it was sent.
        pub(crate) title: String,
        /// The content exactly as it was sent.
        pub(crate) content: String,
        /// The time at which the post was created, in milliseconds since 1970-01-01T00:00:00Z.
        pub(crate) created_at: i64,
        /// The time of the last update, in milliseconds since 1970-01-01T00:00:00Z. It increases with every update,
        /// even if the clock goes back.
        pub(crate) updated_at: i64,
    }
}

/// The author id of a post whose author was deleted. No user has it, because the ids of users begin at 1.
pub(crate) const DELETED: i64 = 0;

/// The policy for the posts of a deleted user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PostsOfDeletedUsers {
    /// They stay, without an author
    #[value(name = "keep")]
    Detach,
    /// They are deleted too
    Delete,
}

row! {
    /// An author. The time of creation distinguishes the author from another user who had the same id.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct PostAuthor {
        pub(crate) id: i64,
        /// The time at which the author was created, in Unix seconds; `None` if the time is not known.
        pub(crate) created_at: Option<i64>,
    }
}

/// A post with the username of its author.
#[derive(Debug)]
pub(crate) struct PostWithAuthor {
    pub(crate) post: Post,
    /// The current username of the author; `None` if the author was deleted.
    pub(crate) author: Option<String>,
}

/// A valid title and content, both exactly as the client sent them.
#[derive(Debug)]
pub(crate) struct PostContent {
    pub(crate) title: String,
    pub(crate) content: String,
}

impl PostContent {
    /// Validates the title, then the content. The error text becomes the `detail` of the HTTP API.
    pub(crate) fn new(title: String, content: String) -> Result<Self, &'static str> {
        if !is_length_valid(&title, MAX_TITLE_CHARS) {
            Err("Title must have 1 to 200 characters.")
        } else if title.chars().any(char::is_control) {
            // A title must be one line, without NUL, line breaks, tabs or escapes.
            Err("Title must not contain control characters.")
        } else if title.trim().is_empty() {
            Err("Title must not be all white space.")
        } else if has_invisible(&title, joins) {
            // An invisible character, such as a change of direction, can make a title look like another one.
            Err("Title must not contain invisible or unassigned characters.")
        } else if !is_length_valid(&content, MAX_CONTENT_CHARS) {
            Err("Content must have 1 to 50000 characters.")
        } else if content.contains('\0') {
            // PostgreSQL cannot store NUL.
            Err("Content must not contain NUL.")
        } else {
            Ok(Self { title, content })
        }
    }
}

fn is_length_valid(text: &str, max: usize) -> bool {
    !text.is_empty() && text.chars().nth(max).is_none()
}

/// Returns whether an invisible joiner changes how this character is shown.
///
/// Joiners combine emoji. They also change the shape of letters in the scripts from Arabic to Sinhala and in Myanmar,
/// Khmer and Mongolian. Beside other characters, they change nothing that a reader sees.
fn joins(character: char) -> bool {
    let is_shaped = matches!(
        character,
        '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}'
    );
    is_emoji(character) || (is_shaped && !is_invisible(character))
}

#[cfg(test)]
mod tests;
