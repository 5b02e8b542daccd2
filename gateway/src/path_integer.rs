//! Integers in a path: an optional sign and ASCII digits.

/// No row has this id: ids start at 1.
const NOBODY: i64 = 0;

/// The integer of a segment; `None` when it is none. One that is too large to be an id is an integer
/// still, and stands for nobody's: the service that is asked says so in its turn.
pub(crate) fn parse(segment: &str) -> Option<i64> {
    let digits = segment.strip_prefix(['+', '-']).unwrap_or(segment);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(segment.parse().unwrap_or(NOBODY))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_optional_sign_and_digits_are_an_integer() {
        for (segment, id) in [("7", 7), ("+7", 7), ("-7", -7), ("0", 0), ("-0", 0), ("007", 7)] {
            assert_eq!(parse(segment), Some(id), "{segment}");
        }
        assert_eq!(parse("9223372036854775807"), Some(i64::MAX));
    }

    #[test]
    fn an_integer_beyond_every_id_is_nobody_s() {
        for segment in ["9223372036854775808", "-9223372036854775809", &"9".repeat(30)] {
            assert_eq!(parse(segment), Some(0), "{segment}");
        }
    }

    #[test]
    fn everything_else_is_no_integer() {
        for segment in ["", "+", "-", "abc", "1.5", "1e3", "0x1", " 1", "1 ", "--1", "+-1", "1_0"] {
            assert_eq!(parse(segment), None, "{segment:?}");
        }
        for segment in ["٣", "１", "1\0", "/"] {
            assert_eq!(parse(segment), None, "{segment:?}");
        }
    }
}
