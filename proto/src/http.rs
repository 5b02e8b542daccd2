//! Maps errors to HTTP responses, for every program that answers HTTP clients.
//!
//! A [`Reason`] comes from a service, and an [`HttpReason`] from the program that received the HTTP request.
//! Both go into the same header.

use crate::reason::Reason;
use std::time::Duration;

/// The header that names the reason of every error. Programs compare its value, because the texts in bodies
/// are for people.
pub const REASON_HEADER: &str = "rolegate-reason";

macro_rules! http_reasons {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal, $status:literal;)+) => {
        /// The reason why an HTTP request failed in the program that received it. Errors of services have a
        /// [`Reason`] instead. The names are stable, and documented in `docs/http-api.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HttpReason {
            $($(#[$doc])+ $variant,)+
        }

        impl HttpReason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns the name in the header [`REASON_HEADER`].
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the HTTP status of the response.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// Returns the name in the header and the HTTP status.
            #[deprecated(note = "use `as_str` and `http_status`")]
            #[must_use]
            pub const fn http(self) -> (&'static str, u16) {
                (self.as_str(), self.http_status())
            }
        }
    };
}

http_reasons! {
    /// The request has no credentials, or malformed ones.
    NotAuthenticated = "NOT_AUTHENTICATED", 401;
    /// The request changes something or submits a form, and a page of another site may have caused it.
    CrossSite = "CROSS_SITE", 403;
    /// The request does not have exactly one valid `Host`.
    HostInvalid = "HOST_INVALID", 400;
    /// A parameter in the path does not have the required type.
    PathInvalid = "PATH_INVALID", 400;
    /// The query, or a parameter in it, is malformed.
    QueryInvalid = "QUERY_INVALID", 400;
    /// The body is not in the format that the endpoint reads.
    BodyInvalid = "BODY_INVALID", 400;
    /// A field of the body is missing, repeated or of another type.
    FieldInvalid = "FIELD_INVALID", 400;
    /// The body has a field that the endpoint does not know.
    FieldUnknown = "FIELD_UNKNOWN", 400;
    /// No endpoint has this path.
    RouteNotFound = "ROUTE_NOT_FOUND", 404;
    /// The path has endpoints, but not for this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405;
    /// The body did not arrive in time.
    BodyTimedOut = "BODY_TIMED_OUT", 408;
    /// The body is larger than the limit.
    BodyTooLarge = "BODY_TOO_LARGE", 413;
    /// The endpoint does not accept this `Content-Type`, or the body has a content coding, which is not
    /// decoded.
    MediaTypeUnsupported = "MEDIA_TYPE_UNSUPPORTED", 415;
    /// The HTTP program had an internal error. Services report theirs as [`Reason::Internal`].
    Internal = "INTERNAL", 500;
    /// The service cannot be reached, or its response is not one of Rolegate's.
    UpstreamUnavailable = "UPSTREAM_UNAVAILABLE", 503;
    /// The service did not answer in time.
    UpstreamTimedOut = "UPSTREAM_TIMED_OUT", 504;
}

/// The value of `Retry-After` if the service sent no delay.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

impl Reason {
    /// Returns the challenge for bearer tokens in `WWW-Authenticate` of a 401. It has `error="invalid_token"`
    /// if a token was presented and refused (RFC 6750, section 3).
    #[must_use]
    pub const fn bearer_challenge(self) -> &'static str {
        match self {
            Self::TokenInvalid | Self::TokenUserNotFound => "Bearer error=\"invalid_token\"",
            _ => BEARER_CHALLENGE,
        }
    }
}

/// The challenge for bearer tokens, for a request that presented none.
pub const BEARER_CHALLENGE: &str = "Bearer";

/// The challenge for Basic credentials. It has no realm, although RFC 7617, section 2, requires one, because
/// the contract of the API omits it.
pub const BASIC_CHALLENGE: &str = "Basic";

/// The challenge for Basic credentials in responses to proxies. HTTP libraries of Python send no password
/// without a realm.
pub const BASIC_CHALLENGE_WITH_REALM: &str = "Basic realm=\"Rolegate\"";

/// Returns the value of `Retry-After` in whole seconds, or `None` for a status without this header. The delay is
/// rounded up, so that clients do not try again too early. Without a delay, the value is one second.
#[must_use]
pub fn retry_after(status: u16, delay: Option<Duration>) -> Option<u64> {
    if !matches!(status, 429 | 503) {
        return None;
    }
    let delay = delay.unwrap_or(DEFAULT_RETRY_AFTER);
    let seconds = u64::try_from(delay.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
    Some(seconds.max(1))
}

#[cfg(test)]
mod tests {
    use super::{HttpReason, Reason, retry_after};
    use std::{collections::BTreeSet, time::Duration};

    /// Returns the rows of the table of errors in `docs/http-api.md`: the status, the reasons, and the whole
    /// row.
    fn documented() -> Vec<(u16, Vec<&'static str>, &'static str)> {
        let rows = include_str!("../../docs/http-api.md").lines();
        let row = |row: &'static str| {
            let mut cells = row.strip_prefix("| ")?.split(" | ");
            let status = cells.next()?.parse().ok()?;
            let reasons = cells.next()?.split(", ").map(|name| name.trim_matches('`'));
            Some((status, reasons.collect(), row))
        };
        rows.skip_while(|line| !line.starts_with("| Status | `Rolegate-Reason`"))
            .take_while(|line| line.starts_with('|'))
            .filter_map(row)
            .collect()
    }

    #[test]
    fn the_table_of_errors_has_exactly_the_reasons_with_their_statuses_and_details() {
        let rows = documented();
        let pairs = |row: &(u16, Vec<&'static str>, _)| {
            row.1.iter().map(|name| (row.0, *name)).collect::<Vec<_>>()
        };
        let documented: BTreeSet<_> = rows.iter().flat_map(pairs).collect();
        let of_services = Reason::ALL
            .iter()
            .map(|reason| (reason.http_status(), reason.as_str()));
        let of_http = HttpReason::ALL
            .iter()
            .map(|reason| (reason.http_status(), reason.as_str()));
        let ours: BTreeSet<_> = of_services.chain(of_http).collect();
        assert_eq!(documented, ours);
        for reason in Reason::ALL {
            let Some(detail) = reason.http_detail() else {
                continue;
            };
            let has_both = |row: &(_, Vec<&str>, &str)| {
                row.1.contains(&reason.as_str()) && row.2.contains(&format!("`{detail}`"))
            };
            assert!(rows.iter().any(has_both), "{reason:?}: {detail}");
        }
    }

    #[test]
    fn every_reason_is_an_error_of_the_client_or_of_the_server() {
        for &reason in Reason::ALL {
            let status = reason.http_status();
            let detail = reason.http_detail();
            assert!((400..600).contains(&status), "{reason:?}");
            assert!(
                detail.is_none_or(|detail| detail.ends_with('.')),
                "{reason:?}"
            );
        }
    }

    #[test]
    fn retry_after_is_rounded_up_and_at_least_a_second() {
        for (delay, seconds) in [(0, 1), (1000, 1), (1001, 2), (59_500, 60)] {
            assert_eq!(
                retry_after(429, Some(Duration::from_millis(delay))),
                Some(seconds)
            );
        }
        assert_eq!(
            (retry_after(503, None), retry_after(401, None)),
            (Some(1), None)
        );
    }
}
