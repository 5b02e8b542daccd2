//! Makes the keys by which usernames are searched and sorted. Both engines compare the keys byte for byte, so a search
//! finds the same users on both.

use std::collections::BTreeSet;
use unicode_normalization::{UnicodeNormalization as _, char::canonical_combining_class};

/// Returns the text without case and accents, so that `muller` and `MÜLLER` are equal.
pub(crate) fn search_key(text: &str) -> String {
    // Accents have a combining class. Vowel signs, which are part of a word in scripts of India, have none.
    text.nfkd()
        .filter(|character| canonical_combining_class(*character) == 0)
        // The capital form comes first, because only it is the same for both forms of the Greek sigma, and it replaces
        // `ß` by `SS`.
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns the keys of the words in the text of a search, each once. White space separates the words.
///
/// A text of accents alone has no key. It is returned as it is, so that it finds nobody instead of everybody.
pub(crate) fn search_words(text: &str) -> Vec<String> {
    let key = search_key(text);
    let mut words: BTreeSet<&str> = key.split_whitespace().collect();
    if words.is_empty() {
        words.extend(text.split_whitespace());
    }
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{search_key, search_words};

    #[test]
    fn keys_ignore_case_and_accents() {
        for (text, key) in [
            ("Müller", "muller"),
            ("MU\u{308}LLER", "muller"),
            ("Σίσυφος", "σισυφοσ"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("Straße", "strasse"),
            ("İstanbul", "istanbul"),
            ("ﬁnn", "finn"),
            ("Ｎａｍｅ", "name"),
            ("Žofie", "zofie"),
            ("हिन्दी", "हिनदी"),
            ("日本", "日本"),
            ("a%b_c\\d", "a%b_c\\d"),
            ("", ""),
        ] {
            assert_eq!(search_key(text), key, "{text}");
        }
    }

    #[test]
    fn a_search_for_an_accent_alone_is_not_one_for_everybody() {
        for accent in ["´", "¨", "\u{301}"] {
            assert_eq!(search_words(&format!(" {accent} ")), [accent]);
        }
    }

    #[test]
    fn white_space_separates_the_words_of_a_search() {
        let words = search_words(" LOVELACE\u{a0}Ada  ada ");
        assert_eq!(words, ["ada", "lovelace"]);
        assert!(search_words(" \t").is_empty());
    }
}
