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
