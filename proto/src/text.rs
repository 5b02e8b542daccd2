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
mod tests {
    use super::{has_invisible, is_emoji, is_invisible};

    #[test]
    fn format_characters_separators_ignorable_and_unassigned_code_points_are_invisible() {
        for invisible in [
            '\u{ad}',
            '\u{200b}',
            '\u{200d}',
            '\u{202e}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
            '\u{2028}',
            '\u{2029}',
            '\u{34f}',
            '\u{3164}',
            '\u{ffa0}',
            '\u{fe0f}',
            '\u{e0101}',
            '\u{180e}',
            '\u{378}',
            '\u{ffff}',
            '\u{2065}',
            '\u{e01f0}',
            '\u{10ffff}',
        ] {
            assert!(is_invisible(invisible), "{invisible:?}");
        }
    }

    #[test]
    fn letters_marks_digits_signs_spaces_and_emoji_are_visible() {
        for visible in "aZ~ é\u{301}ß日本語ہिक่Ω१\u{a0}\u{3000}€🦀👩\u{e000}".chars()
        {
            assert!(!is_invisible(visible), "{visible:?}");
        }
    }

    #[test]
    fn joiners_and_variation_selectors_are_allowed_where_they_change_what_is_shown() {
        for family in
            ["👩\u{200d}👩\u{200d}👧", "❤\u{fe0f}\u{200d}🔥!", "👩🏽\u{200d}🚀", "plain", ""]
        {
            assert!(!has_invisible(family, is_emoji), "{family:?}");
        }
        for lonely in [
            "ad\u{200d}min",
            "👩\u{200d}",
            "\u{200d}👩",
            "👩\u{200d}\u{200d}👩",
            "1\u{fe0f}",
            "a\u{fe0f}",
            "\u{fe0f}👩",
            "👩\u{fe0f}",
            "❤\u{fe0f}\u{fe0f}",
            "❤\u{fe0e}",
            "👩\u{200b}👩",
        ] {
            assert!(has_invisible(lonely, is_emoji), "{lonely:?}");
        }
        assert!(!has_invisible("می\u{200c}خواهم", char::is_alphabetic));
    }
}
