//! Records denied requests in the audit log: once a minute for each actor and route, so that a holder of
//! a token cannot fill the log.

use super::metrics::method_name;
use axum::{extract::MatchedPath, response::Response};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::AUTHORIZATION};
use rolegate_auth_client::{
    CallError, Reason, User,
    axum::{BearerToken, RequiredRoles},
    is_api_key,
};
use rolegate_http_server::clients::client_key;
use rolegate_telemetry::{audit_line, request_context::RequestContext};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

const WINDOW: Duration = Duration::from_mins(1);
/// Beyond it, expired ones are forgotten, then all, which allows one more line each.
const MAX_RECORDED: usize = 10_000;

/// Lines without an actor in a window: strangers have any number of addresses.
const MAX_ANONYMOUS: u32 = 60;

static RECORDED: LazyLock<Mutex<Recorded>> = LazyLock::new(Mutex::default);

/// The lines that were written.
#[derive(Default)]
struct Recorded {
    /// When the last line of an actor or client and a route was written.
    last: HashMap<(String, String), Instant>,
    /// The start of the window of lines without an actor, and their number.
    anonymous: Option<(Instant, u32)>,
}

/// Who was denied: from the token's claims or, for Basic, from the extensions of the response.
#[derive(Deserialize)]
struct Actor {
    sub: String,
    username: String,
}

impl From<&User> for Actor {
    fn from(user: &User) -> Self {
        Self { sub: user.id.to_string(), username: user.username.clone() }
    }
}

impl Actor {
    /// Reads a token that auth-service has verified. It refuses a role only after that.
    fn of(token: &SecretString) -> Option<Self> {
        let claims = token.expose_secret().split('.').nth(1)?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }
}

/// The credential in an `Authorization` header.
fn credential(authorization: Option<HeaderValue>) -> Option<SecretString> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, authorization?);
    BearerToken::from_headers(&headers).map(|BearerToken(token)| token)
}

/// The part of an API key that lists show.
fn key_prefix(credential: &SecretString) -> Option<String> {
    is_api_key(credential).then(|| credential.expose_secret().chars().take(8).collect())
}

/// Records the response if it is a denial. Call it within the request's context.
pub(crate) fn record(
    method: &Method,
    route: Option<&MatchedPath>,
    authorization: Option<HeaderValue>,
    response: &Response,
) {
    if response.status() != StatusCode::FORBIDDEN {
        return;
    }
    let Some(reason) = response.extensions().get::<CallError>().and_then(CallError::reason) else {
        return;
    };
    let route = route.map_or("unmatched", MatchedPath::as_str);
    let credential = match reason {
        Reason::RoleInsufficient => credential(authorization),
        _ => None,
    };
    let basic_actor = response.extensions().get::<User>().map(Actor::from);
    let actor = basic_actor.or_else(|| credential.as_ref().and_then(Actor::of));
    let api_key = credential.as_ref().and_then(key_prefix);
    let client = || client_key(RequestContext::client_address()).to_string();
    let key = actor.as_ref().map(|actor| actor.sub.clone());
    let key = key.or_else(|| api_key.clone()).unwrap_or_else(client);
    // A client can invent any number of methods.
    let method = method_name(method);
    let key = (key, format!("{method} {route}"));
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    if !recorded.is_due(key, actor.is_some() || api_key.is_some(), Instant::now()) {
        return;
    }
    drop(recorded);
    let required_roles = response.extensions().get().map(|RequiredRoles(roles)| roles.as_ref());
    audit_line!(
        "access_denied",
        actor_id = actor.as_ref().and_then(|actor| actor.sub.parse::<i64>().ok()),
        actor = actor.as_ref().map(|actor| actor.username.as_str()),
        api_key,
        method,
        route,
        required_roles,
        reason = reason.as_str(),
    );
}

impl Recorded {
    /// Whether a line is to be written now, which counts it.
    fn is_due(&mut self, key: (String, String), has_actor: bool, now: Instant) -> bool {
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < WINDOW;
        if self.last.get(&key).is_some_and(is_recent) {
            return false;
        }
        if !has_actor {
            let window = self.anonymous.filter(|(start, _)| is_recent(start));
            let (start, lines) = window.unwrap_or((now, 0));
            if lines == MAX_ANONYMOUS {
                return false;
            }
            self.anonymous = Some((start, lines + 1));
        }
        if self.last.len() >= MAX_RECORDED {
            self.last.retain(|_, at| is_recent(at));
        }
        if self.last.len() >= MAX_RECORDED {
            self.last.clear();
        }
        self.last.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Actor, MAX_ANONYMOUS, Recorded, WINDOW, client_key, credential, key_prefix};
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use http::HeaderValue;
    use std::time::Instant;

    #[test]
    fn a_line_is_due_once_a_minute_for_each_actor_and_route() {
        let key = |actor: &str, route: &str| (actor.to_owned(), route.to_owned());
        let (mut recorded, now) = (Recorded::default(), Instant::now());
        let mut is_due = |key, now| recorded.is_due(key, true, now);
        assert!(is_due(key("7", "GET /admin"), now));
        assert!(!is_due(key("7", "GET /admin"), now + WINDOW / 2));
        assert!(is_due(key("8", "GET /admin"), now));
        assert!(is_due(key("7", "GET /users"), now));
        assert!(is_due(key("7", "GET /admin"), now + WINDOW));
    }

    #[test]
    fn strangers_cannot_fill_the_log() {
        let (mut recorded, now) = (Recorded::default(), Instant::now());
        let mut lines = |address: &dyn Fn(u32) -> String, now| {
            let addresses = (0..1000).map(|number| address(number).parse().expect("an address"));
            let clients = addresses.map(|address| client_key(Some(address)).to_string());
            let keys = clients.map(|client| (client, "POST /register".to_owned()));
            keys.filter(|key| recorded.is_due(key.clone(), false, now)).count()
        };
        assert_eq!(lines(&|number| format!("2001:db8::{number:x}"), now), 1, "one /64");
        let others = lines(&|number| format!("2001:db8:{number:x}::1"), now + WINDOW);
        assert_eq!(others, usize::try_from(MAX_ANONYMOUS).expect("small"));
    }

    #[test]
    fn the_actor_is_read_from_the_claims_and_malformed_tokens_have_none() {
        let actor = |token: &str| {
            let header = HeaderValue::from_str(&format!("Bearer {token}")).expect("a header");
            let actor = Actor::of(&credential(Some(header)).expect("a token"));
            actor.map(|actor| (actor.sub, actor.username))
        };
        let claims = URL_SAFE_NO_PAD.encode(r#"{"sub":"7","username":"ann","role":"user"}"#);
        assert_eq!(actor(&format!("e30.{claims}.sig")), Some(("7".into(), "ann".into())));
        for token in ["a", "a.b.c", "..", "e30.e30.x", "rgk_abcdefgh"] {
            assert_eq!(actor(token), None, "{token}");
        }
        assert!(credential(None).is_none());
    }

    #[test]
    fn an_api_key_is_named_by_the_prefix_that_lists_show() {
        let prefix = |credential: &str| key_prefix(&credential.into());
        assert_eq!(prefix("rgk_abcdefgh").as_deref(), Some("rgk_abcd"));
        assert_eq!(prefix("rgk_é").as_deref(), Some("rgk_é"));
        assert_eq!(prefix("a.b.c"), None);
    }
}
