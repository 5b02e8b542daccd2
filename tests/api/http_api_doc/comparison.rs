//! Compares real output with the output that a page shows. Times may differ, and `…` stands for any
//! text.

use serde_json::{Number, Value};

/// Returns whether `shown` is an abbreviation of `real`.
pub(super) fn abbreviates(shown: &str, real: &str) -> bool {
    let mut pieces = shown.split('…');
    let mut rest = pieces.next().and_then(|start| real.strip_prefix(start));
    for piece in pieces {
        rest = rest
            .and_then(|rest| rest.split_once(piece))
            .map(|(_, rest)| rest);
    }
    rest.is_some_and(|rest| rest.is_empty() || shown.ends_with('…'))
}

/// Returns whether `shown` equals `real` apart from times and abbreviations.
pub(super) fn stands_for(shown: &Value, real: &Value) -> bool {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => {
            let is_in = |(name, value)| real.get(name).is_some_and(|it| stands_for(value, it));
            shown.len() == real.len() && shown.iter().all(is_in)
        }
        (Value::Array(shown), Value::Array(real)) => {
            shown.len() == real.len() && shown.iter().zip(real).all(|(a, b)| stands_for(a, b))
        }
        (Value::String(shown), Value::String(real)) => {
            let is_time = |text: &str| humantime::parse_rfc3339(text).is_ok();
            abbreviates(shown, real)
                || (is_time(shown) && is_time(real) && shown.len() == real.len())
        }
        (Value::Number(shown), Value::Number(real)) => {
            let is_time = |number: &Number| number.as_i64() > Some(1_000_000_000);
            shown == real || (is_time(shown) && is_time(real))
        }
        _ => shown == real,
    }
}

/// Returns the fields of a body's schema: all of them, and those that are required.
pub(super) fn fields<'a>(document: &'a Value, schema: &'a Value) -> [Vec<&'a str>; 2] {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document
            .pointer(&reference[1..])
            .expect("within the document");
        return fields(document, schema);
    }
    let all = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|it| it.keys());
    let required = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let mut found = [
        all.map(String::as_str).collect(),
        required.collect::<Vec<_>>(),
    ];
    for part in schema["allOf"].as_array().into_iter().flatten() {
        for (found, more) in found.iter_mut().zip(fields(document, part)) {
            found.extend(more);
        }
    }
    found
}
