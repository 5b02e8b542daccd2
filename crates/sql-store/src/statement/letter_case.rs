//! Makes patterns for text in which the case of letters does not matter.

use crate::dialect::Dialect;
use std::collections::BTreeSet;

/// Returns a pattern that matches one character, or the same letter in any case. The pattern is a regular
/// expression of PostgreSQL, or a pattern of SQLite's GLOB.
pub(super) fn ignore_case(character: char, dialect: Dialect) -> String {
    let cases = letter_cases(character);
    if cases.len() > 1 {
        return format!("[{}]", cases.into_iter().collect::<String>());
    }
    match dialect {
        Dialect::Postgres if character.is_ascii_punctuation() => format!("\\{character}"),
        Dialect::Sqlite if "*?[".contains(character) => format!("[{character}]"),
        _ => character.to_string(),
    }
}

/// Returns the character in upper and lower case. Forms of several characters, such as SS for ß, are left out.
fn letter_cases(character: char) -> BTreeSet<char> {
    let upper = single(character.to_uppercase()).unwrap_or(character);
    let lower = single(character.to_lowercase()).unwrap_or(character);
    let lower_of_upper = single(upper.to_lowercase()).unwrap_or(upper);
    BTreeSet::from([character, upper, lower, lower_of_upper])
}

fn single(mut characters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if characters.len() == 1 {
        characters.next()
    } else {
        None
    }
}
