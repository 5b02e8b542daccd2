//! Sends JSON over HTTP, with assertions that print the whole response when they fail.

use crate::eventually::{INTERVAL, TIMEOUT, within_bounds};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{
    Client, Method, RequestBuilder,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
    redirect::Policy,
};
use serde_json::{Value, json};

/// A client of one address, with or without credentials.
#[derive(Clone, Debug)]
pub struct Api {
    base: String,
    client: Client,
    authorization: Option<HeaderValue>,
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct TestResponse {
    /// The method and the URL of the request, for messages.
    pub request: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers of the response.
    pub headers: HeaderMap,
    /// The body as text.
    pub body: String,
}

impl Api {
    /// Creates a client of this address, without credentials.
    ///
    /// # Panics
    ///
    /// Panics if no HTTP client can be created.
    #[must_use]
    pub fn at(base: &str) -> Self {
        let client = Client::builder()
            .no_proxy()
            .timeout(TIMEOUT)
            .redirect(Policy::none())
            .build();
        Self {
            base: base.to_owned(),
            client: client.expect("an HTTP client"),
            authorization: None,
        }
    }

    /// Returns the base URL.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns a client of the same address with this `Authorization` header.
    #[must_use]
    pub fn with_authorization(&self, value: &[u8]) -> Self {
        let value = HeaderValue::from_bytes(value).expect("bytes that a header may have");
        Self {
            authorization: Some(value),
            ..self.clone()
        }
    }

    /// Returns a client of the same address with this bearer token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        self.with_authorization(format!("Bearer {token}").as_bytes())
    }

    /// Returns a client of the same address with HTTP Basic credentials.
    #[must_use]
    pub fn with_basic(&self, username: &str, password: &str) -> Self {
        let credentials = STANDARD.encode(format!("{username}:{password}"));
        self.with_authorization(format!("Basic {credentials}").as_bytes())
    }

    /// Sends a request as a proxy does for the client at this address. The setup must trust the
    /// loopback addresses (`TRUSTED_PROXIES`).
    pub async fn send_from(&self, client: &str, request: RequestBuilder) -> TestResponse {
        self.send(request.header("x-forwarded-for", client)).await
    }

    /// Sends a GET.
    pub async fn get(&self, path: &str) -> TestResponse {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a POST with JSON.
    pub async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// Sends a PUT with JSON.
    pub async fn put(&self, path: &str, body: &Value) -> TestResponse {
        self.send(self.request(Method::PUT, path).json(body)).await
    }

    /// Sends a PATCH with JSON.
    pub async fn patch(&self, path: &str, body: &Value) -> TestResponse {
        self.send(self.request(Method::PATCH, path).json(body))
            .await
    }

    /// Sends a DELETE.
    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// Ends all access tokens and sessions of the user. If the client has the token of a session,
    /// ends only that session.
    pub async fn log_out(&self) {
        self.send(self.request(Method::POST, "/logout"))
            .await
            .expect_message("Logged out.");
    }

    /// Begins a request, which the test completes and sends.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.authorization {
            Some(value) => request.header(AUTHORIZATION, value),
            None => request,
        }
    }

    /// Sends a request.
    pub async fn send(&self, request: RequestBuilder) -> TestResponse {
        self.try_send(request)
            .await
            .unwrap_or_else(|error| panic!("no response: {error:?}"))
    }

    /// Sends a request that may get no response.
    pub async fn try_send(&self, request: RequestBuilder) -> Result<TestResponse, reqwest::Error> {
        let request = request.build()?;
        let description = format!("{} {}", request.method(), request.url());
        let received = self.client.execute(request).await?;
        let (status, headers) = (received.status().as_u16(), received.headers().clone());
        let body = received.text().await?;
        Ok(TestResponse {
            request: description,
            status,
            headers,
            body,
        }
        .checked())
    }
}

impl TestResponse {
    /// Asserts what holds for every response: exactly the errors of an API, and of its pages, name
    /// a reason.
    ///
    /// Other errors are those of probes and of requests whose head cannot be parsed; both are plain
    /// text. A proxy, which says its name, passes the reason on with a page of its own.
    #[must_use]
    pub(crate) fn checked(self) -> Self {
        let is_error = self.status >= 400;
        let of_ours = ["application/json", "text/html; charset=utf-8"];
        let is_ours = self
            .header("content-type")
            .is_some_and(|it| of_ours.contains(&it));
        let has_reason = self.header("rolegate-reason").is_some();
        let is_of_proxy = self.header("server").is_some();
        assert!(is_of_proxy || has_reason == (is_error && is_ours), "{self}");
        self
    }

    /// Asserts this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self}");
        self
    }

    /// Asserts this status and exactly this JSON body.
    #[track_caller]
    pub fn expect_json(&self, status: u16, body: &Value) -> &Self {
        self.expect(status);
        assert_eq!(
            self.header("content-type"),
            Some("application/json"),
            "{self}"
        );
        assert_eq!(&self.json(), body, "{self}");
        self
    }

    /// Asserts 200 with exactly `{"message": …}`.
    #[track_caller]
    pub fn expect_message(&self, message: &str) -> &Self {
        self.expect_json(200, &json!({ "message": message }))
    }

    /// Asserts an error with exactly `{"detail": …}`.
    #[track_caller]
    pub fn expect_detail(&self, status: u16, detail: &str) -> &Self {
        self.expect_json(status, &json!({ "detail": detail }))
    }

    /// Asserts an error whose body is `{"detail": string}`, and returns the string.
    #[track_caller]
    pub fn expect_error(&self, status: u16) -> String {
        self.expect(status);
        let detail = self.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(!detail.is_empty(), "an error has a detail: {self}");
        self.expect_detail(status, &detail);
        detail
    }

    /// Asserts that the header occurs once with this value, or not at all with `None`.
    #[track_caller]
    pub fn expect_header(&self, name: &str, value: Option<&str>) -> &Self {
        assert_eq!(self.header(name), value, "{name}: {self}");
        assert!(
            self.headers.get_all(name).iter().count() <= 1,
            "{name} twice: {self}"
        );
        self
    }

    /// Asserts a `Retry-After` of 1 to 60 seconds.
    #[track_caller]
    pub fn expect_retry_after(&self) -> &Self {
        let seconds = self
            .header("retry-after")
            .and_then(|text| text.parse::<u32>().ok());
        assert!(
            seconds.is_some_and(|seconds| (1..=60).contains(&seconds)),
            "{self}"
        );
        self
    }

    /// Parses the body as JSON.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("the body is not JSON: {self}"))
    }

    /// Returns the first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns everything but `date` and the request id, so that two responses can be compared.
    #[must_use]
    pub fn comparable(&self) -> (u16, HeaderMap, &str) {
        let mut headers = self.headers.clone();
        headers.remove("date");
        headers.remove("x-request-id");
        (self.status, headers, &self.body)
    }
}

/// Repeats a request until the response is neither 503 nor 504. On a busy machine, a hash of the
/// real cost may take longer than the deadline of a call.
pub async fn until_served<F: Future<Output = TestResponse>>(
    mut request: impl FnMut() -> F,
) -> TestResponse {
    within_bounds("a response other than 503 and 504", async move {
        loop {
            let response = request().await;
            if ![503, 504].contains(&response.status) {
                return response;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    })
    .await
}

impl std::fmt::Display for TestResponse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            request,
            status,
            headers,
            body,
        } = self;
        write!(formatter, "{request}\ngot {status} {headers:?}\n{body}")
    }
}
