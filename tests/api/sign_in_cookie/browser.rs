//! Requests of browsers to an application, about which two kinds of proxies ask Rolegate.

use e2e::{
    Api, TestApp, TestUser,
    ext_authz::{self, Client, Decision},
    grpc,
};
use reqwest::Method;
use rolegate_proto::{
    auth_v1::{CreateSessionRequest, RevokeTokensRequest},
    envoy_auth_v3::{CheckRequest, HeaderMap, HeaderValue, attribute_context::HttpRequest},
};
use std::collections::HashMap;

/// A request to `https://app.example.org/reports?month=5`.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Which credentials count, as the configuration of the proxy says.
    pub(crate) credentials: Option<&'static str>,
}

/// The outcome of a request: what the browser or the application receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The HTTP status; 200 if the request passes.
    pub(crate) status: u16,
    /// The reason of an error; empty if there is no error.
    pub(crate) reason: String,
    pub(crate) location: String,
    /// The values of `WWW-Authenticate`. For Basic, browsers open a password dialog.
    pub(crate) challenges: Vec<String>,
    /// The role of the user, if the request passes.
    pub(crate) role: String,
    body: String,
}

/// The two kinds of proxies, each with its way to ask.
pub(crate) struct Proxies {
    pub(crate) forward: Api,
    pub(crate) envoy: Client,
}

impl Browser {
    pub(crate) fn get() -> Self {
        Self {
            method: "GET",
            path: "/reports?month=5",
            headers: Vec::new(),
            credentials: None,
        }
    }

    /// Sends the request through a proxy whose configuration names these credentials.
    pub(crate) fn credentials(mut self, which: &'static str) -> Self {
        self.credentials = Some(which);
        self
    }

    /// Opens the page as a click does.
    pub(crate) fn navigation() -> Self {
        Self::get().with("sec-fetch-mode", "navigate")
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn cookie(self, session: &str) -> Self {
        let name = if session.starts_with("rgd_") {
            "__Secure-rolegate"
        } else {
            "__Host-rolegate"
        };
        self.with("cookie", &format!("theme=dark; {name}={session}; lang=en"))
    }

    /// Builds the check that Envoy sends. With `is_raw`, Envoy is configured with
    /// `encode_raw_headers`.
    pub(crate) fn check(&self, roles: &str, is_raw: bool) -> CheckRequest {
        let mut check = ext_authz::check(Some(roles), None);
        let attributes = check.attributes.as_mut().expect("attributes");
        let credentials = self.credentials.map(|it| ("credentials".into(), it.into()));
        attributes.context_extensions.extend(credentials);
        let request = attributes.request.as_mut();
        let http = request.and_then(|it| it.http.as_mut()).expect("a request");
        *http = HttpRequest {
            method: self.method.to_owned(),
            scheme: "https".to_owned(),
            host: "app.example.org".to_owned(),
            path: self.path.to_owned(),
            ..HttpRequest::default()
        };
        if is_raw {
            let raw = |(key, value): &(&str, String)| HeaderValue {
                key: (*key).to_owned(),
                raw_value: value.clone().into_bytes(),
                ..HeaderValue::default()
            };
            http.header_map = Some(HeaderMap {
                headers: self.headers.iter().map(raw).collect(),
            });
        } else {
            let mut joined: HashMap<String, String> = HashMap::new();
            for (name, value) in &self.headers {
                let separator = if *name == "cookie" { "; " } else { "," };
                let entry = joined.entry((*name).to_owned());
                entry
                    .and_modify(|it| it.extend([separator, value]))
                    .or_insert(value.clone());
            }
            http.headers = joined;
        }
        check
    }
}

impl Proxies {
    pub(crate) async fn of(app: &TestApp) -> Self {
        let forward = Api::at(&app.gateway().address("forward"));
        Self {
            forward,
            envoy: ext_authz::client(&app.auth().address("grpc")).await,
        }
    }

    /// Asks whether any user may make this request.
    pub(crate) async fn ask(&self, browser: &Browser) -> Answer {
        self.ask_for("*", browser).await
    }

    /// Asks the gateway, and asserts that auth-service answers either form of Envoy's check in the
    /// same way.
    pub(crate) async fn ask_for(&self, roles: &str, browser: &Browser) -> Answer {
        let mut query = Vec::new();
        if roles != "*" {
            query.push(format!("roles={roles}"));
        }
        query.extend(browser.credentials.map(|it| format!("credentials={it}")));
        let path = format!("/authorize?{}", query.join("&"));
        let request = self.forward.request(Method::GET, &path);
        let request = request.header("x-forwarded-method", browser.method);
        let request = request.header("x-forwarded-proto", "https");
        let request = request.header("x-forwarded-host", "app.example.org");
        let mut request = request.header("x-forwarded-uri", browser.path);
        for (name, value) in &browser.headers {
            request = request.header(*name, value);
        }
        let response = self.forward.send(request).await;
        let header = |name| response.header(name).unwrap_or_default().to_owned();
        let challenges = response.headers.get_all("www-authenticate").iter();
        let answer = Answer {
            status: response.status,
            reason: header("rolegate-reason"),
            location: header("location"),
            challenges: challenges
                .map(|it| it.to_str().expect("text").to_owned())
                .collect(),
            role: header("rolegate-role"),
            body: response.body.clone(),
        };
        assert_eq!(header("cache-control"), "no-store");
        for is_raw in [false, true] {
            let decision = ext_authz::decide(&self.envoy, browser.check(roles, is_raw)).await;
            assert_eq!(of_envoy(&decision), answer, "{browser:?}");
        }
        answer
    }
}

fn of_envoy(decision: &Decision) -> Answer {
    let header = |name| decision.values(name).concat();
    let passes = decision.http_status == 0;
    assert_eq!(passes, decision.code == 0, "{decision:?}");
    assert_eq!(
        header("cache-control"),
        if passes { "" } else { "no-store" }
    );
    Answer {
        status: if passes {
            200
        } else {
            decision.http_status.try_into().expect("a status")
        },
        reason: header("rolegate-reason"),
        location: header("location"),
        challenges: decision
            .values("www-authenticate")
            .into_iter()
            .map(Into::into)
            .collect(),
        role: header("rolegate-role"),
        body: decision.body.clone(),
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect_passed(&self, role: &str) {
        assert_eq!(
            (self.status, &*self.role, &*self.location),
            (200, role, ""),
            "{self:?}"
        );
    }

    #[track_caller]
    pub(crate) fn expect_refused(&self, status: u16, reason: &str) {
        assert_eq!(
            (self.status, &*self.reason, &*self.location),
            (status, reason, ""),
            "{self:?}"
        );
        assert_eq!(self.role, "");
    }

    #[track_caller]
    pub(crate) fn expect_text(&self, part: &str) {
        assert!(self.body.contains(part), "{part}: {self:?}");
    }

    #[track_caller]
    pub(crate) fn expect_led(&self, page: &str) {
        assert_eq!((self.status, &*self.location), (303, page), "{self:?}");
        assert_eq!((&*self.role, &*self.reason, &*self.body), ("", "", ""));
    }
}

/// Creates a session of this user, for the cookie of a host or of a domain.
pub(crate) async fn new_session(app: &TestApp, user: &TestUser, for_domain: bool) -> String {
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let (username, password) = (user.username.clone(), user.password.clone());
    let message = CreateSessionRequest {
        username,
        password,
        for_domain,
        ..Default::default()
    };
    let made = client
        .create_session(message)
        .await
        .expect("made")
        .into_inner();
    assert!(
        made.token
            .starts_with(if for_domain { "rgd_" } else { "rgs_" })
    );
    made.token
}

/// Ends a session as the sign-out page does.
pub(crate) async fn sign_out(app: &TestApp, session: &str) {
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let message = RevokeTokensRequest {
        from_cookie: true,
        ..RevokeTokensRequest::default()
    };
    client
        .revoke_tokens(grpc::authenticated(message, session))
        .await
        .expect("signed out");
}
