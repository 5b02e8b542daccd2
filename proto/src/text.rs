//! Which characters the texts of the contracts may not have.

use unicode_properties::{
    EmojiStatus, GeneralCategory, UnicodeEmoji as _, UnicodeGeneralCategory as _,
};

/// Whether a character shows nothing, or something else tomorrow: a format character (Cf, among them
/// zero-width spaces and changes of direction), a line or paragraph separator (Zl, Zp), a code point
/// that Unicode has not assigned (Cn), or a `Default_Ignorable_Code_Point`. A text with one can look
/// like another text.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    use GeneralCategory::{Format, LineSeparator, ParagraphSeparator, Unassigned};
    // Most texts are ASCII, which has none.
    !character.is_ascii()
        && (matches!(
            character.general_category(),
            Format | LineSeparator | ParagraphSeparator | Unassigned
        ) || is_default_ignorable_mark_or_letter(character))
}

/// Whether a name has a character that shows nothing, by which it can look like another name. Allowed are the space
/// of ASCII, and between two emoji the joiner that makes another emoji of them.
#[must_use]
pub fn has_blank(name: &str) -> bool {
    const NON_JOINER: char = '\u{200c}';
    name.chars()
        .any(|character| character == NON_JOINER || is_blank(character))
        || has_invisible(name, is_emoji)
}

/// Whether a character shows nothing, or moves what follows: white space, a control character, or one that is invisible.
#[must_use]
pub fn shows_nothing(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || is_blank(character)
        || is_invisible(character)
}

/// Whether a visible character has no ink: spaces (Zs) beyond ASCII, and the characters of scripts and notations whose
/// glyph is empty although Unicode counts them as letters, marks or symbols.
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

/// Whether a text has an invisible character. Allowed are, because they change what is shown, joiners
/// between two characters for which `joins` is true, and the selector of the emoji style after an emoji
/// whose default style is text.
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

/// Whether a character is an emoji beyond ASCII, of which joiners make other emoji (UTS #51).
#[must_use]
pub fn is_emoji(character: char) -> bool {
    !character.is_ascii() && character.is_emoji_char()
}

fn is_text_by_default(emoji: char) -> bool {
    use EmojiStatus::{EmojiModifierBase, EmojiOther};
    !emoji.is_ascii() && matches!(emoji.emoji_status(), EmojiModifierBase | EmojiOther)
}

/// The value of a decimal digit (Nd) of any script. Unicode has the ten digits of a script in a row, from zero to nine,
/// so the digits before this one say which it is.
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

/// `Default_Ignorable_Code_Point` of `DerivedCoreProperties.txt`, without Cf and Cn: the combining
/// grapheme joiner, fillers of Hangul, vowels of Khmer, and variation selectors.
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
