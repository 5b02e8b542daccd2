use super::{Authorization, authorization};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use secrecy::ExposeSecret;

fn read(values: &[&[u8]]) -> Option<(String, String)> {
    let mut headers = HeaderMap::new();
    for value in values {
        let value = HeaderValue::from_bytes(value).expect("a header value");
        headers.append(AUTHORIZATION, value);
    }
    let Ok(Authorization::Basic { username, password }) = authorization(&headers) else {
        return None;
    };
    Some((username, password.expose_secret().to_owned()))
}

fn read_user_pass(user_pass: &[u8]) -> Option<(String, String)> {
    read(&[format!("Basic {}", STANDARD.encode(user_pass)).as_bytes()])
}

fn pair(username: &str, password: &str) -> (String, String) {
    (username.to_owned(), password.to_owned())
}

#[test]
fn password_is_everything_after_the_first_colon() {
    assert_eq!(
        read_user_pass(b"Aladdin:open sesame"),
        Some(pair("Aladdin", "open sesame"))
    );
    assert_eq!(read_user_pass(b"a::b:"), Some(pair("a", ":b:")));
    assert_eq!(read_user_pass(b":"), Some(pair("", "")));
    assert_eq!(
        read_user_pass("jörg:пароль".as_bytes()),
        Some(pair("jörg", "пароль"))
    );
    assert_eq!(read_user_pass(b"a: b\0 "), Some(pair("a", " b\0 ")));
}

#[test]
fn scheme_is_case_insensitive_and_padding_is_optional() {
    for value in ["Basic YTpi", "basic YTpi", "BASIC   YTpi ", "Basic YTpi"] {
        assert_eq!(read(&[value.as_bytes()]), Some(pair("a", "b")), "{value}");
    }
    for value in ["Basic YTpiYw==", "Basic YTpiYw", "Basic YTpiYw="] {
        assert_eq!(read(&[value.as_bytes()]), Some(pair("a", "bc")), "{value}");
    }
}

#[test]
fn invalid_utf8_becomes_the_empty_credentials() {
    for user_pass in [&b"a\xff:b"[..], b"a:\xff", b"\xff:\xff", b"\xc3:\xa9"] {
        assert_eq!(read_user_pass(user_pass), Some(pair("", "")));
    }
}

#[test]
fn other_forms_are_rejected() {
    let forms: [&[u8]; 16] = [
        b"",
        b"Basic",
        b"Basic ",
        b"Basic    ",
        b"Basic =",
        b"Basic YTpi YTpi",
        b"Basic YTpi,",
        b"Basic YT-_",
        b"Basic Y",
        b"Basic a:b",
        b"Basic YWI=",
        b"Basic\tYTpi",
        b"BasicYTpi",
        b"Bearer YTpi",
        b"YTpi",
        b"Basic YTpi\xff",
    ];
    for form in forms {
        assert_eq!(read(&[form]), None, "{:?}", String::from_utf8_lossy(form));
    }
    assert_eq!(read(&[]), None);
    assert_eq!(
        read(&[b"Basic YTpi", b"Basic YTpi"]),
        None,
        "two headers are ambiguous"
    );
}
