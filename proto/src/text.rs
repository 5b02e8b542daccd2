//! Finds characters that names and titles must not contain, because a text with one can look like another
//! text.

use unicode_properties::{
    EmojiStatus, GeneralCategory, UnicodeEmoji as _, UnicodeGeneralCategory as _,
};

/// Returns whether a character shows nothing, or may look different in a later version of Unicode.
///
/// These are format characters (Cf, among them zero-width spaces and changes of direction), line and
/// paragraph separators (Zl, Zp), code points that Unicode has not assigned (Cn), and each
/// `Default_Ignorable_Code_Point`. A text with one can look like another text.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    use GeneralCategory::{Format, LineSeparator, ParagraphSeparator, Unassigned};
    // This test comes first, because most texts are ASCII, which has no such character.
    !character.is_ascii()
        && (matches!(
            character.general_category(),
            Format | LineSeparator | ParagraphSeparator | Unassigned
        ) || is_default_ignorable_mark_or_letter(character))
}

/// Returns whether a name has a character that shows nothing, so that it can look like another name. Control
/// characters are not found here, and the ASCII space is allowed.
///
/// Two kinds of invisible characters are allowed, because they change what is shown: the zero-width joiner
/// between two emoji, and the selector of the emoji style after an emoji whose default style is text.
#[must_use]
pub fn has_blank(name: &str) -> bool {
    const NON_JOINER: char = '\u{200c}';
    name.chars()
        .any(|character| character == NON_JOINER || is_blank(character))
        || has_invisible(name, is_emoji)
}

/// Returns whether a character shows nothing or moves the text after it: white space, a control character, or
/// an invisible one.
#[must_use]
pub fn shows_nothing(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || is_blank(character)
        || is_invisible(character)
}

/// Returns whether a character that Unicode counts as visible has an empty glyph. These are the spaces (Zs)
/// beyond ASCII, and a few letters, marks and symbols of scripts and notations.
fn is_blank(character: char) -> bool {
    !character.is_ascii()
        && (character.general_category() == GeneralCategory::SpaceSeparator
            || matches!(
                character,
                '\u{2800}' // a cell of Braille without dots
                    | '\u{1107f}' // the number joiner of Brahmi
                    | '\u{13441}'
                    ..='\u{13442}' // blanks between hieroglyphs
                    | '\u{16fe4}' // the filler of the Khitan small script
                    | '\u{1d159}' // a note without a head
            ))
}

/// Returns whether a text has an invisible character that is not allowed.
///
/// Two kinds are allowed because they change what is shown. They are joiners between two characters for which
/// `joins` returns true, and the selector of the emoji style after an emoji whose default style is text.
pub fn has_invisible(text: &str, joins: impl Fn(char) -> bool) -> bool {
    const EMOJI_STYLE: char = '\u{fe0f}';
    let mut characters = text.chars().peekable();
    let mut before = None;
    while let Some(character) = characters.next() {
        let is_allowed = match character {
            EMOJI_STYLE => before.is_some_and(is_text_by_default),
            '\u{200c}' | '\u{200d}' => {
                before.is_some_and(|before| joins(before) || before == EMOJI_STYLE)
                    && characters.peek().copied().is_some_and(&joins)
            }
            _ => !is_invisible(character),
        };
        if !is_allowed {
            return true;
        }
        before = Some(character);
    }
    false
}

/// Returns whether a character is an emoji beyond ASCII. Joiners combine such characters into other emoji
/// (UTS #51).
#[must_use]
pub fn is_emoji(character: char) -> bool {
    !character.is_ascii() && character.is_emoji_char()
}

fn is_text_by_default(emoji: char) -> bool {
    use EmojiStatus::{EmojiModifierBase, EmojiOther};
    !emoji.is_ascii() && matches!(emoji.emoji_status(), EmojiModifierBase | EmojiOther)
}

/// Returns the value of a decimal digit (Nd) of any script. The ten digits of a script are adjacent in
/// Unicode, from zero to nine, so the number of digits directly before this one gives its value.
#[must_use]
pub fn decimal_digit(character: char) -> Option<u32> {
    let is_digit = |character: &char| {
        character.is_ascii_digit() || character.general_category() == GeneralCategory::DecimalNumber
    };
    if !is_digit(&character) {
        return None;
    }
    let digits_before = ('\0'..character).rev().take_while(is_digit).count();
    u32::try_from(digits_before % 10).ok()
}

/// Returns whether a character is a `Default_Ignorable_Code_Point` of `DerivedCoreProperties.txt` outside Cf
/// and Cn. These are the combining grapheme joiner, fillers of Hangul, vowels of Khmer, and variation
/// selectors.
fn is_default_ignorable_mark_or_letter(character: char) -> bool {
    matches!(
        character,
        '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests;
