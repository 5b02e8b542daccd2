//! Reads the setting `CORS_ALLOWED_ORIGINS`.

use http::HeaderValue;
use std::str::FromStr;
use tower_http::cors::AllowOrigin;
use url::Url;

/// The origins whose scripts may call the API. If there are none, no response has CORS headers, so browsers let only
/// scripts of the same origin read responses.
///
/// Cookies are ignored in requests of other origins, so `Access-Control-Allow-Credentials` is never sent.
#[derive(Clone, Debug, Default)]
pub struct AllowedOrigins(pub Option<AllowOrigin>);

impl FromStr for AllowedOrigins {
    type Err = &'static str;

    /// Parses an empty text, `*`, or origins separated by commas.
    fn from_str(text: &str) -> Result<Self, &'static str> {
        let origins = match text.trim() {
            "" => None,
            "*" => Some(AllowOrigin::any()),
            list => {
                let origins: Option<Vec<_>> =
                    list.split(',').map(|origin| parse(origin.trim())).collect();
                Some(AllowOrigin::list(origins.ok_or(
                    "must be empty, *, or origins as browsers send them, separated by commas, such \
                     as https://app.example,http://localhost:5173 (lower case, no path, no default \
                     port)",
                )?))
            }
        };
        Ok(Self(origins))
    }
}

/// Parses an origin in its serialized form (RFC 6454, section 6.2). Browsers send no other form, so any other would
/// never match.
fn parse(origin: &str) -> Option<HeaderValue> {
    let url = Url::parse(origin).ok()?;
    let serialized = match url.origin() {
        // An app with a web view sends an origin with its own scheme, such as `capacitor://localhost`.
        url::Origin::Opaque(_) if url.has_host() => {
            format!("{}://{}", url.scheme(), url.authority())
        }
        origin => origin.ascii_serialization(),
    };
    let is_valid = origin == serialized
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.port() != Some(0)
        && !origin.contains(|char: char| matches!(char, '*' | '@') || char.is_ascii_uppercase());
    if !is_valid {
        return None;
    }
    HeaderValue::from_str(origin).ok()
}

#[cfg(test)]
mod tests {
    use super::AllowedOrigins;

    #[test]
    fn serialized_origins_are_accepted() {
        for good in [
            "https://app.example",
            "http://localhost:5173",
            "http://[::1]:3000",
            "capacitor://localhost",
            "https://a.example,https://b.example",
            " https://a.example , https://b.example ",
            "https://app.example:80",
        ] {
            let parsed: Result<AllowedOrigins, _> = good.parse();
            assert!(
                matches!(parsed, Ok(AllowedOrigins(Some(_)))),
                "{good}: {parsed:?}"
            );
        }
    }

    #[test]
    fn other_forms_are_rejected() {
        for wrong in [
            "https://app.example:0",
            "app.example",
            "//app.example",
            "https://",
            "https://app.example/",
            "https://app.example/path",
            "https://app.example?x",
            "https://app.example#x",
            "https://App.example",
            "HTTPS://app.example",
            "https://app.example:443",
            "http://app.example:80",
            "https://app.example:",
            "https://app.example:99999",
            "https://app.example:08443",
            "https://me@app.example",
            "https://*.example",
            "https://ä.example",
            "null",
            "*,https://app.example",
            "https://app.example,",
            ",",
            "https://a.example https://b.example",
        ] {
            let parsed: Result<AllowedOrigins, _> = wrong.parse();
            assert!(parsed.is_err(), "{wrong}: {parsed:?}");
        }
    }
}
