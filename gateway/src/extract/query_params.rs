//! Reads the parameters of a query such as `?limit=&after=`, each of which may occur once.

use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use prost_types::Timestamp;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::{http::HttpReason, limits::MAX_PAGE_SIZE, time::parse_rfc3339_or_date};
use std::{borrow::Cow, str::FromStr};
use url::form_urlencoded;

/// The maximum length, in characters, of the name of an unknown parameter or field in an error. A longer name is cut.
pub(super) const MAX_SHOWN_NAME: usize = 64;

/// The parameters of a query, or the fields of a form.
pub(crate) struct QueryParams {
    /// The names and values, in the order of the query.
    pairs: Vec<(String, String)>,
}

impl<S: Sync> FromRequestParts<S> for QueryParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

impl QueryParams {
    /// Parses a query. Fails with 400 if it is not UTF-8.
    pub(crate) fn parse(query: &str) -> Result<Self, ApiError> {
        // `form_urlencoded` would replace invalid bytes by U+FFFD, which is a valid character of usernames.
        percent_decode_str(query)
            .decode_utf8()
            .map_err(|_| invalid_query("The query is not valid UTF-8."))?;
        let pairs = form_urlencoded::parse(query.as_bytes());
        Ok(Self {
            pairs: pairs.into_owned().collect(),
        })
    }

    /// Rejects with 400 a parameter that is not in `known`.
    pub(crate) fn expect_only(&self, known: &[&str]) -> Result<(), ApiError> {
        for (name, _) in &self.pairs {
            if !known.contains(&name.as_str()) {
                let name: String = name.chars().take(MAX_SHOWN_NAME).collect();
                return Err(invalid_query(format!(
                    "Query parameter \"{name}\" is not known."
                )));
            }
        }
        Ok(())
    }

    /// Returns the value of a parameter, or `None` if it is missing. Fails with 400 if the parameter is repeated.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.pairs.iter().filter(|(key, _)| key == name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value.map(|(_, value)| value.as_str())),
            _ => Err(invalid_query(format!(
                "Query parameter \"{name}\" is given more than once."
            ))),
        }
    }

    /// Returns the value of `limit`, the maximum number of rows on a page, or `None` if it is missing. Fails with 400
    /// unless it is from 1 to [`MAX_PAGE_SIZE`].
    pub(crate) fn limit(&self) -> Result<Option<u16>, ApiError> {
        let is_valid = |&limit: &u16| (1..=MAX_PAGE_SIZE).contains(&limit.into());
        let rule = format!("a whole number from 1 to {MAX_PAGE_SIZE}");
        self.number("limit", is_valid, &rule)
    }

    /// Returns the `limit` as the contracts define a page size: 0 if it is missing.
    pub(crate) fn page_size(&self) -> Result<i32, ApiError> {
        Ok(self.limit()?.map_or(0, i32::from))
    }

    /// Returns the value of `after`, the id after which a page begins: 0 if it is missing.
    pub(crate) fn after(&self) -> Result<i64, ApiError> {
        Ok(self.id("after")?.unwrap_or(0))
    }

    /// Returns the value of a parameter that must be an id, or `None` if it is missing. It may be 0, which no row has.
    /// Fails with 400 if it is no id.
    pub(crate) fn id(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.number(name, |_| true, "an id, a whole number from 0")
    }

    /// Returns the value of a parameter that must be a positive number, such as a revision or the id of a user, or
    /// `None` if it is missing. Fails with 400 for any other value.
    pub(crate) fn positive(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.number(name, |number| *number > 0, "a whole number from 1")
    }

    /// Returns the value of a parameter that must have the form of an event name, or `None` if it is missing. Fails
    /// with 400 if it does not.
    pub(crate) fn event(&self, name: &str) -> Result<Option<&str>, ApiError> {
        self.checked(name, is_event_name, "1 to 64 letters a to z and _")
    }

    /// Returns the value of a parameter that must be a time in RFC 3339, or a date, which means its beginning in UTC; or
    /// `None` if it is missing. Fails with 400 for any other value.
    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, ApiError> {
        let rule =
            "a time in RFC 3339, such as 2030-01-31T00:00:00Z, or a date, such as 2030-01-31";
        let is_time = |text: &str| parse_rfc3339_or_date(text).is_some();
        let text = self.checked(name, is_time, rule)?;
        Ok(text.and_then(parse_rfc3339_or_date).map(Timestamp::from))
    }

    /// Returns the value of a parameter that must be one of `values`, or `None` if it is missing. Fails with 400 for
    /// any other value.
    pub(crate) fn one_of<const N: usize>(
        &self,
        name: &str,
        values: [&str; N],
    ) -> Result<Option<&str>, ApiError> {
        self.checked(name, |value| values.contains(&value), &values.join(" or "))
    }

    /// Returns the value of a parameter that must be a number, or `None` if it is missing. Fails with 400 unless
    /// `is_valid` accepts the number. A sign is rejected, although `parse` alone would accept it.
    fn number<N: FromStr>(
        &self,
        name: &str,
        is_valid: impl Fn(&N) -> bool,
        rule: &str,
    ) -> Result<Option<N>, ApiError> {
        let parse = |text: &str| {
            let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse()
                .ok()
                .filter(|number| is_digits && is_valid(number))
        };
        let text = self.checked(name, |text| parse(text).is_some(), rule)?;
        Ok(text.and_then(parse))
    }

    /// Returns the value of a parameter, or `None` if it is missing. Fails with 400 unless `is_valid` accepts the value.
    /// `rule` is the part of the error that says which values are valid.
    fn checked(
        &self,
        name: &str,
        is_valid: impl Fn(&str) -> bool,
        rule: &str,
    ) -> Result<Option<&str>, ApiError> {
        let value = self.get(name)?;
        if value.is_none_or(is_valid) {
            return Ok(value);
        }
        Err(invalid_query(format!(
            "Query parameter \"{name}\" must be {rule}."
        )))
    }
}

fn is_event_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(is_letter)
}

pub(crate) fn invalid_query(detail: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::http(HttpReason::QueryInvalid, detail)
}
