use super::{MalformedCursor, SortValue, UserCursor, UserOrder, prefix_end};

#[test]
fn prefix_is_a_range_in_byte_order() {
    for (prefix, end) in [
        ("", None),
        ("ab", Some("ac")),
        ("a%", Some("a&")),
        ("\u{d7ff}", Some("\u{e000}")),
        ("a\u{10ffff}", Some("b")),
        ("\u{10ffff}", None),
    ] {
        assert_eq!(prefix_end(prefix), end.map(str::to_owned));
    }
}

#[test]
fn a_cursor_is_the_text_of_an_id_and_a_value() {
    for (text, order, value) in [
        ("7:ada", UserOrder::Username, SortValue::Text("ada".into())),
        ("7:a:b", UserOrder::Username, SortValue::Text("a:b".into())),
        ("7:", UserOrder::Username, SortValue::Text(String::new())),
        ("7:0", UserOrder::LastLogin, SortValue::Seconds(0)),
        (
            "7:9223372036854775807",
            UserOrder::Until,
            SortValue::Seconds(i64::MAX),
        ),
    ] {
        let cursor = UserCursor { id: 7, value };
        assert_eq!(cursor.to_string(), text);
        assert_eq!(UserCursor::parse(text, order), Ok(cursor));
    }
}

#[test]
fn a_text_that_is_no_cursor_of_the_order_is_refused() {
    for (text, order) in [
        ("7:", UserOrder::Id),
        ("7", UserOrder::Username),
        ("", UserOrder::Username),
        ("x:ada", UserOrder::Username),
        ("7:ada\0", UserOrder::Username),
        ("9223372036854775808:ada", UserOrder::Username),
        ("7:ada", UserOrder::LastLogin),
        ("7:", UserOrder::Until),
    ] {
        let parsed = UserCursor::parse(text, order);
        assert_eq!(parsed, Err(MalformedCursor), "{text:?}");
    }
}
