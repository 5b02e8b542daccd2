use super::{decimal_digit, has_blank, has_invisible, is_emoji, is_invisible};
use regex_syntax::{
    Parser,
    hir::{Class, HirKind},
};
use std::collections::HashSet;

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
    for family in [
        "👩\u{200d}👩\u{200d}👧",
        "❤\u{fe0f}\u{200d}🔥!",
        "👩🏽\u{200d}🚀",
        "plain",
        "",
    ] {
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

/// Returns the characters of a class in the syntax of regular expressions, from the Unicode tables of another
/// crate.
fn class(pattern: &str) -> HashSet<char> {
    let class = Parser::new().parse(pattern).expect("a pattern");
    let HirKind::Class(Class::Unicode(class)) = class.into_kind() else {
        panic!("{pattern} is no class");
    };
    let ranges = class.ranges().iter();
    ranges
        .flat_map(|range| range.start()..=range.end())
        .collect()
}

#[test]
fn of_all_code_points_names_have_those_that_show_something_and_the_space_of_ascii() {
    let without_ink = class(concat!(
        r"[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}[\p{Zs}--\x20]",
        r"\u{2800}\u{1107F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]",
    ));
    // Each crate has the tables of one version of Unicode, so a code point that is unassigned in one may be
    // assigned in the other.
    let unassigned = class(r"\p{Cn}");
    let control = class(r"\p{Cc}");
    let mut refused = 0;
    for character in '\0'..=char::MAX {
        let is_refused = has_blank(&format!("a{character}b"));
        refused += u32::from(is_refused);
        if without_ink.contains(&character) {
            assert!(is_refused, "{character:?} shows nothing");
        } else if !unassigned.contains(&character) && !control.contains(&character) {
            assert!(!is_refused, "{character:?} shows something");
        }
    }
    assert!(
        refused > 100_000,
        "nor do unassigned code points: {refused}"
    );
    for noncharacter in ['\u{fdd0}', '\u{fffe}', '\u{10ffff}'] {
        assert!(has_blank(&noncharacter.to_string()), "{noncharacter:?}");
    }
}

#[test]
fn of_all_code_points_the_decimal_digits_have_the_value_of_their_place() {
    let digits = class(r"\p{Nd}");
    let unassigned = class(r"\p{Cn}");
    let mut expected = 0;
    for character in '\0'..=char::MAX {
        if digits.contains(&character) {
            assert_eq!(decimal_digit(character), Some(expected), "{character:?}");
            expected = (expected + 1) % 10;
        } else {
            assert_eq!(
                expected, 0,
                "{character:?} interrupts the digits of a script"
            );
            let is_digit = decimal_digit(character).is_some();
            assert!(
                !is_digit || unassigned.contains(&character),
                "{character:?}"
            );
        }
    }
    for (text, value) in [("٧", 7), ("７", 7), ("७", 7), ("𝟕", 7), ("𝟘", 0), ("𝟡", 9)]
    {
        assert_eq!(
            text.chars().next().and_then(decimal_digit),
            Some(value),
            "{text}"
        );
    }
    for no_decimal in ["²", "①", "Ⅶ", "七", "½", "a"] {
        assert_eq!(
            no_decimal.chars().next().and_then(decimal_digit),
            None,
            "{no_decimal}"
        );
    }
}
