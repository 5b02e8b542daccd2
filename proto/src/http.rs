//! Errors as HTTP responses, for every program that answers HTTP clients.

use crate::reason::Reason;
use std::time::Duration;

/// The header of every error that names its reason, for programs: texts are for people.
pub const REASON_HEADER: &str = "rolegate-reason";

macro_rules! http_reasons {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal, $status:literal;)+) => {
        /// Why an HTTP request was refused other than by a service, which has a [`Reason`]. Stable, and
        /// documented in `docs/http-api.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum HttpReason {
            $($(#[$doc])+ $variant,)+
        }

        impl HttpReason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in the header.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Its HTTP status.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// The name in the header, and the status.
            #[deprecated(note = "use `as_str` and `http_status`")]
            #[must_use]
            pub const fn http(self) -> (&'static str, u16) {
                (self.as_str(), self.http_status())
            }
        }
    };
}

http_reasons! {
    /// No credentials, or malformed ones.
    NotAuthenticated = "NOT_AUTHENTICATED", 401;
    /// A cookie with a change that a page of another site may have caused, or a form of one.
    CrossSite = "CROSS_SITE", 403;
    /// Not exactly one valid `Host`.
    HostInvalid = "HOST_INVALID", 400;
    /// A parameter in the path has another type.
    PathInvalid = "PATH_INVALID", 400;
    /// The query, or a parameter in it.
    QueryInvalid = "QUERY_INVALID", 400;
    /// The body is of another form.
    BodyInvalid = "BODY_INVALID", 400;
    /// A field of the body is missing, repeated or of another type.
    FieldInvalid = "FIELD_INVALID", 400;
    /// The body has a field that the endpoint does not know.
    FieldUnknown = "FIELD_UNKNOWN", 400;
    /// No endpoint has this path.
    RouteNotFound = "ROUTE_NOT_FOUND", 404;
    /// The path has no endpoint of this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405;
    /// The body did not arrive in time.
    BodyTimedOut = "BODY_TIMED_OUT", 408;
    /// The body has too many bytes.
    BodyTooLarge = "BODY_TOO_LARGE", 413;
    /// The body has another `Content-Type`, or a coding that is not decoded.
    MediaTypeUnsupported = "MEDIA_TYPE_UNSUPPORTED", 415;
    /// An internal error; as [`Reason::Internal`].
    Internal = "INTERNAL", 500;
    /// No service answered: it cannot be reached, or its answer is not one of ours.
    UpstreamUnavailable = "UPSTREAM_UNAVAILABLE", 503;
    /// No service answered in time.
    UpstreamTimedOut = "UPSTREAM_TIMED_OUT", 504;
}

/// `Retry-After` where no service sent a delay.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

impl Reason {
    /// The challenge for bearer tokens in `WWW-Authenticate` of a 401: with `error="invalid_token"` if
    /// the reason is one of a token that was presented (RFC 6750, section 3).
    #[must_use]
    pub const fn bearer_challenge(self) -> &'static str {
        match self {
            Self::TokenInvalid | Self::TokenUserNotFound => "Bearer error=\"invalid_token\"",
            _ => BEARER_CHALLENGE,
        }
    }
}

/// The challenge for bearer tokens in a response to a request without one.
pub const BEARER_CHALLENGE: &str = "Bearer";

/// The challenge for Basic credentials. The API contract omits the realm that RFC 7617, section 2,
/// requires.
pub const BASIC_CHALLENGE: &str = "Basic";

/// The challenge for Basic credentials where a proxy asks: programs in Python send no password without a realm.
pub const BASIC_CHALLENGE_WITH_REALM: &str = "Basic realm=\"Rolegate\"";

/// The value of `Retry-After` in a response with this status; `None` for statuses without the header.
/// In whole seconds, rounded up, so that clients do not come back too early.
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

    /// The rows of the table of errors: status, reasons, and the whole row.
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
