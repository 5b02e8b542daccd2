use super::{Code, Enrolment, Issuer};
use data_encoding::BASE32_NOPAD;
use secrecy::ExposeSecret;
use std::collections::BTreeSet;

#[test]
fn one_time_codes_have_six_digits_and_spaces_do_not_count() {
    for typed in [
        "012345",
        " 012 345\n",
        "012-345",
        "0\u{a0}1\u{2009}2\u{3000}3\u{202f}4\u{2800}5",
        "\u{feff}012\u{200b}345\u{200e}",
        "٠١٢٣٤٥",
        "۰۱۲۳۴۵",
        "०१२३४५",
        "０１２３４５",
        "𝟎𝟏𝟐𝟑𝟒𝟓",
        "٠1२３𝟜5",
    ] {
        assert_eq!(Code::parse(typed), Some(Code::OneTime(12345)), "{typed}");
    }
    for bad in [
        "12345",
        "1234567",
        "12345a",
        "+12345",
        "①②③④⑤⑥",
        "¹²³⁴⁵⁶",
        "一二三四五六",
        "-",
        &"1".repeat(1000),
        &"１".repeat(1000),
        &"𐌀".repeat(1000),
    ] {
        assert_eq!(Code::parse(bad), Some(Code::Malformed), "{bad}");
    }
}

#[test]
fn blank_text_is_no_code() {
    for blank in [
        "",
        " ",
        "\t\r\n",
        "\u{a0}\u{3000}",
        "\u{200b}\u{feff}",
        "\u{2800}",
    ] {
        assert_eq!(Code::parse(blank), None, "{blank:?}");
    }
}

#[test]
fn recovery_codes_differ_and_are_read_however_they_are_typed() {
    let enrolment = Enrolment::generate().expect("randomness");
    let codes: BTreeSet<_> = enrolment
        .recovery_codes
        .iter()
        .map(ExposeSecret::expose_secret)
        .collect();
    assert_eq!((codes.len(), enrolment.digests.len()), (10, 10));
    for (code, digest) in enrolment.recovery_codes.iter().zip(&enrolment.digests) {
        let code = code.expose_secret();
        let groups: Vec<usize> = code.split('-').map(str::len).collect();
        assert_eq!(groups, [5, 5, 5, 5, 6], "{code}");
        let upper = code.to_uppercase();
        for typed in [
            code,
            &upper,
            &code.replace('-', ""),
            &code.replace('-', " "),
            &code.replace('-', "\u{a0}"),
            &code.replace('2', "２").replace('3', "٣").replace('7', "७"),
        ] {
            assert_eq!(
                Code::parse(typed),
                Some(Code::Recovery(digest.clone())),
                "{typed}"
            );
        }
        assert_eq!(Code::parse(&format!("{code}a")), Some(Code::Malformed));
        assert_eq!(Code::parse(&code[1..]), Some(Code::Malformed));
    }
}

#[test]
fn authenticator_applications_get_the_secret_and_an_encoded_name() {
    let enrolment = Enrolment::generate().expect("randomness");
    let default = Issuer::parse(None).expect("the default");
    let shown = enrolment.authenticator_secret(&default, "ada-1 & b/c?ü");
    let decoded = BASE32_NOPAD
        .decode(shown.base32.expose_secret().as_bytes())
        .expect("base32");
    assert_eq!(decoded, *enrolment.secret);
    let expected = format!(
        "otpauth://totp/Rolegate:ada-1%20%26%20b%2Fc%3F%C3%BC?secret={}&issuer=Rolegate&algorithm=SHA1&digits=6&period=30",
        shown.base32.expose_secret()
    );
    assert_eq!(shown.url.expose_secret(), expected);

    let issuer = Issuer::parse(Some("Müller & Söhne".to_owned())).expect("a name");
    let shown = enrolment.authenticator_secret(&issuer, "ada");
    let issuer = "M%C3%BCller%20%26%20S%C3%B6hne";
    let expected = format!(
        "otpauth://totp/{issuer}:ada?secret={}&issuer={issuer}&algorithm=SHA1&digits=6&period=30",
        shown.base32.expose_secret()
    );
    assert_eq!(shown.url.expose_secret(), expected);
}

#[test]
fn an_issuer_is_one_line_that_a_colon_does_not_end() {
    let parse = |name: &str| Issuer::parse(Some(name.to_owned()));
    for valid in [
        "a",
        "ACME Corp",
        "auth.example.org",
        "a&issuer=b",
        "株式会社",
    ] {
        assert_eq!(parse(valid).expect(valid).name, valid);
    }
    assert!(parse(&"é".repeat(127)).is_some());
    for bad in [
        "",
        " ",
        " a",
        "a ",
        "a:b",
        "localhost:8000",
        "[::1]",
        "a\nb",
        "a\0",
        "a\u{85}",
    ] {
        assert!(parse(bad).is_none(), "{bad:?}");
    }
    assert!(parse(&"é".repeat(128)).is_none());
}
