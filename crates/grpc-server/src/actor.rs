//! Reads the credential of the actor from the metadata of a call.

use rolegate_proto::{
    authorization::bearer_token,
    metadata::{AUTHORIZATION, only_value},
};
use tonic::metadata::MetadataMap;

/// Returns the token of `authorization: Bearer <token>` (RFC 6750, section 2.1). Anything else yields the
/// empty token, which is rejected like any invalid token.
pub fn token(metadata: &MetadataMap) -> &str {
    only_value(metadata.get_all(AUTHORIZATION).iter())
        .and_then(|value| bearer_token(value.as_bytes()))
        .unwrap_or_default()
}

/// Does the same as [`token`], for calls that allow anonymous actors. Returns `None` only if there is no
/// `authorization`; anything invalid yields the empty token.
pub fn optional_token(metadata: &MetadataMap) -> Option<&str> {
    if metadata.contains_key(AUTHORIZATION) {
        Some(token(metadata))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{optional_token, token};
    use tonic::metadata::{MetadataMap, MetadataValue};

    #[test]
    fn exactly_one_bearer_token_is_accepted() {
        for (values, expected) in [
            (vec!["Bearer a.b"], "a.b"),
            (vec!["bearer  a.b "], "a.b"),
            (vec![], ""),
            (vec!["a.b"], ""),
            (vec!["Basic a.b"], ""),
            (vec!["Bearer a", "Bearer a"], ""),
        ] {
            let mut metadata = MetadataMap::new();
            for value in &values {
                metadata.append("authorization", MetadataValue::from_static(value));
            }
            assert_eq!(token(&metadata), expected, "{values:?}");
            let optional = (!values.is_empty()).then_some(expected);
            assert_eq!(optional_token(&metadata), optional, "{values:?}");
        }
    }
}
