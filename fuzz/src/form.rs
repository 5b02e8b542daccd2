//! Reads forms and queries (`application/x-www-form-urlencoded`) byte by byte.

/// Returns the names and values of the fields, in their order. Returns `None` if any of them is not UTF-8.
pub fn fields(text: &[u8]) -> Option<Vec<(String, String)>> {
    let parts = text
        .split(|&byte| byte == b'&')
        .filter(|part| !part.is_empty());
    let field = |part: &[u8]| {
        let cut = part.iter().position(|&byte| byte == b'=');
        let value = cut.map_or(&[][..], |cut| &part[cut + 1..]);
        Some((
            decoded(&part[..cut.unwrap_or(part.len())])?,
            decoded(value)?,
        ))
    };
    parts.map(field).collect()
}

/// Decodes a name or a value. A `%` without two hex digits stays as it is.
fn decoded(text: &[u8]) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        let digit = |index| char::from(rest.clone().nth(index)?).to_digit(16);
        bytes.push(match (byte, digit(0), digit(1)) {
            (b'+', ..) => b' ',
            (b'%', Some(high), Some(low)) => {
                rest.nth(1);
                u8::try_from(high * 16 + low).ok()?
            }
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Returns the value of the field with this name, or `None` if there is no such field. Returns an error if
/// there are several.
pub fn only<'a>(fields: &'a [(String, String)], name: &str) -> Result<Option<&'a str>, ()> {
    let mut values = fields
        .iter()
        .filter(|(it, _)| it == name)
        .map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(()),
    }
}
