//! Parses the URL of a collector, and defines the error of settings that prevent traces.

use http::Uri;
use std::str::FromStr;

/// The error of a variable whose value prevents traces from starting.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct StartError {
    /// The name of the environment variable.
    pub variable: &'static str,
    /// The reason why the value of the variable is refused.
    pub problem: String,
}

/// The URL of a collector. Empty text means that there is none, as in the OpenTelemetry specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub(super) url: Option<String>,
}

impl FromStr for Endpoint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "must be the URL of a collector that accepts OTLP over gRPC, \
                                such as http://127.0.0.1:4317";
        if text.is_empty() {
            return Ok(Self { url: None });
        }
        let url: Uri = text.parse().map_err(|_| EXPECTED)?;
        let has_user = url
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'));
        let has_path = url.path_and_query().is_some_and(|path| path != "/");
        let has_host = url.host().is_some_and(|host| !host.is_empty());
        match url.scheme_str() {
            Some("https") => {
                Err("https is not supported; use a collector on this host or network over http")
            }
            Some("http") if has_host && !has_user && !has_path && url.port_u16() != Some(0) => {
                Ok(Self {
                    url: Some(text.to_owned()),
                })
            }
            _ => Err(EXPECTED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn an_endpoint_is_an_http_url_or_empty() {
        let url = |text: &str| text.parse::<Endpoint>().map(|endpoint| endpoint.url);
        assert_eq!(url(""), Ok(None));
        for good in [
            "http://127.0.0.1:4317",
            "http://collector:4317/",
            "http://collector",
        ] {
            assert_eq!(url(good), Ok(Some(good.to_owned())));
        }
        for bad in [
            "collector",
            "collector:4317",
            "grpc://a:1",
            "http://a:1/v1/traces",
            "http://",
        ] {
            assert!(
                url(bad).is_err_and(|error| error.contains("must be the URL")),
                "{bad}"
            );
        }
        assert!(url("http://me:hunter2@a:1").is_err_and(|error| !error.contains("hunter2")));
        assert!(url("https://a:4317").is_err_and(|error| error.contains("https")));
    }
}
