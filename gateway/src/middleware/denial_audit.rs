//! Records denied requests in the audit log: once a minute for each actor and route, so that a holder of
//! a token cannot fill the log.

use axum::{extract::MatchedPath, response::Response};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::AUTHORIZATION};
use rolegate_auth_client::{
    CallError, Reason,
    axum::{BearerToken, RequiredRoles},
};
use rolegate_telemetry::{audit_line, request_context::RequestContext};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

const WINDOW: Duration = Duration::from_mins(1);
/// Beyond it, expired ones are forgotten, then all, which allows one more line each.
const MAX_RECORDED: usize = 10_000;

/// When the last line of an actor and a route was written.
static RECORDED: LazyLock<Mutex<HashMap<(String, String), Instant>>> =
    LazyLock::new(Mutex::default);

/// The claims that name the actor.
#[derive(Deserialize)]
struct Actor {
    sub: String,
    username: String,
}

impl Actor {
    /// Reads a token that auth-service has verified. It refuses a role only after that.
    fn of(authorization: Option<HeaderValue>) -> Option<Self> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization?);
        let BearerToken(token) = BearerToken::from_headers(&headers)?;
        let claims = token.expose_secret().split('.').nth(1)?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
    }
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
    let actor = match reason {
        Reason::RoleInsufficient => Actor::of(authorization),
        _ => None,
    };
    let client = || RequestContext::client_address().map(|address| address.to_string());
    let key = actor.as_ref().map_or_else(|| client().unwrap_or_default(), |it| it.sub.clone());
    if !is_due((key, format!("{method} {route}")), Instant::now()) {
        return;
    }
    let required = response.extensions().get::<RequiredRoles>();
    let required_roles = match (required, reason) {
        (Some(RequiredRoles(roles)), _) => {
            Some(roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(","))
        }
        // The routes of a post check who owns it.
        (None, Reason::RoleInsufficient) => Some("owner,admin".to_owned()),
        (None, _) => None,
    };
    audit_line!(
        "access_denied",
        actor_id = actor.as_ref().and_then(|actor| actor.sub.parse::<i64>().ok()),
        actor = actor.as_ref().map(|actor| actor.username.as_str()),
        method = method.as_str(),
        route,
        required_roles,
        reason = reason.as_str(),
    );
}

fn is_due(key: (String, String), now: Instant) -> bool {
    let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_recent = |at: &Instant| now.saturating_duration_since(*at) < WINDOW;
    if recorded.get(&key).is_some_and(is_recent) {
        return false;
    }
    if recorded.len() >= MAX_RECORDED {
        recorded.retain(|_, at| is_recent(at));
    }
    if recorded.len() >= MAX_RECORDED {
        recorded.clear();
    }
    recorded.insert(key, now);
    true
}

#[cfg(test)]
mod tests {
    use super::{Actor, WINDOW, is_due};
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use http::HeaderValue;
    use std::time::Instant;

    #[test]
    fn a_line_is_due_once_a_minute_for_each_actor_and_route() {
        let key = |actor: &str, route: &str| (actor.to_owned(), route.to_owned());
        let now = Instant::now();
        assert!(is_due(key("7", "GET /admin"), now));
        assert!(!is_due(key("7", "GET /admin"), now + WINDOW / 2));
        assert!(is_due(key("8", "GET /admin"), now));
        assert!(is_due(key("7", "GET /users"), now));
        assert!(is_due(key("7", "GET /admin"), now + WINDOW));
    }

    #[test]
    fn the_actor_is_read_from_the_claims_and_malformed_tokens_have_none() {
        let actor = |token: &str| {
            let header = HeaderValue::from_str(&format!("Bearer {token}")).expect("a header");
            Actor::of(Some(header)).map(|actor| (actor.sub, actor.username))
        };
        let claims = URL_SAFE_NO_PAD.encode(r#"{"sub":"7","username":"ann","role":"user"}"#);
        assert_eq!(actor(&format!("e30.{claims}.sig")), Some(("7".into(), "ann".into())));
        for token in ["a", "a.b.c", "..", "e30.e30.x"] {
            assert_eq!(actor(token), None, "{token}");
        }
        assert!(Actor::of(None).is_none());
    }
}
