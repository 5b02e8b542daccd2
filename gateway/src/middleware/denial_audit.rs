//! Records denied requests in the audit log: once a minute for each actor and route, so that a holder of
//! a token cannot fill the log.

use super::metrics::method_name;
use crate::extract::credentials::unverified_claims;
use axum::{extract::MatchedPath, response::Response};
use http::{HeaderValue, Method, StatusCode};
use rolegate_auth_client::{
    CallError, Reason, User,
    axum::{BearerToken, RequiredRoles},
};
use rolegate_http_server::clients::client_key;
use rolegate_proto::{
    authorization::bearer_token,
    http::REASON_HEADER,
    limits::{API_KEY_PREFIX, DOMAIN_SESSION_PREFIX, SESSION_PREFIX},
};
use rolegate_telemetry::{audit_line, log_once::LogOnce, request_context::RequestContext};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::time::Duration;

const WINDOW: Duration = Duration::from_mins(1);

/// Lines by actor, which name a user, a key or a session, and method and route.
static OF_ACTORS: LogOnce<(String, String)> = LogOnce::evicting(10_000, WINDOW);

/// Lines without an actor, by client: strangers have any number of addresses.
static ANONYMOUS: LogOnce<(String, String)> = LogOnce::at_most(MAX_ANONYMOUS, WINDOW);

const MAX_ANONYMOUS: usize = 60;

/// Who was denied: from the token's claims or, for Basic and cookies, from the extensions of the response.
#[derive(Deserialize)]
struct Actor {
    sub: String,
    username: String,
}

fn credential(authorization: Option<HeaderValue>) -> Option<SecretString> {
    bearer_token(authorization?.as_bytes()).map(SecretString::from)
}

/// The start of a credential of this kind, enough for people: of an API key, what lists show.
fn start_of(credential: &SecretString, kind: &str) -> Option<String> {
    let credential = credential.expose_secret();
    credential
        .starts_with(kind)
        .then(|| credential.chars().take(8).collect())
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
    // Every error of ours has it. One without is that of an application's own handler.
    let Some(reason) = response
        .headers()
        .get(REASON_HEADER)
        .and_then(|reason| reason.to_str().ok())
    else {
        return;
    };
    let route = route.map_or("unmatched", MatchedPath::as_str);
    // Only then has auth-service verified the credential. The gateway refuses forms of other sites before that.
    let is_of_actor = response
        .extensions()
        .get::<CallError>()
        .and_then(CallError::reason)
        .is_some_and(|it| it.is_denial() || it == Reason::PasswordLinkRequired);
    let authorization = authorization.filter(|_| is_of_actor);
    // Before `Authorization`, which nothing has verified where only the cookie counts.
    let cookie = response
        .extensions()
        .get()
        .map(|BearerToken(session)| session.clone());
    let credential = cookie.or_else(|| credential(authorization));
    let actor = |user: &User| Actor {
        sub: user.id.to_string(),
        username: user.username.clone(),
    };
    let basic_actor = response.extensions().get().map(actor);
    // auth-service has verified the token: it refuses a role only after that.
    let actor = basic_actor.or_else(|| unverified_claims(credential.as_ref()?.expose_secret()));
    let opaque = |kind| {
        credential
            .as_ref()
            .and_then(|credential| start_of(credential, kind))
    };
    let session = opaque(SESSION_PREFIX).or_else(|| opaque(DOMAIN_SESSION_PREFIX));
    let api_key = opaque(API_KEY_PREFIX);
    // A client can invent any number of methods.
    let method = method_name(method);
    let what = format!("{method} {route}");
    let named = actor
        .as_ref()
        .map(|actor| &actor.sub)
        .or(api_key.as_ref())
        .or(session.as_ref());
    let is_due = if let Some(actor) = named {
        OF_ACTORS.is_due((actor.clone(), what))
    } else {
        let client = client_key(RequestContext::client_address()).to_string();
        ANONYMOUS.is_due((client, what))
    };
    if !is_due {
        return;
    }
    let required_roles = response
        .extensions()
        .get()
        .map(|RequiredRoles(roles)| roles.as_ref());
    audit_line!(
        "access_denied",
        actor_id = actor
            .as_ref()
            .and_then(|actor| actor.sub.parse::<i64>().ok()),
        actor = actor.as_ref().map(|actor| actor.username.as_str()),
        api_key,
        session,
        method,
        route,
        required_roles,
        reason,
    );
}

#[cfg(test)]
mod tests {
    use super::{
        API_KEY_PREFIX, Actor, LogOnce, MAX_ANONYMOUS, SESSION_PREFIX, WINDOW, client_key,
        credential, start_of, unverified_claims,
    };
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use http::HeaderValue;
    use secrecy::ExposeSecret as _;

    #[test]
    fn strangers_cannot_fill_the_log() {
        let log = LogOnce::at_most(MAX_ANONYMOUS, WINDOW);
        let lines = |address: &dyn Fn(u32) -> String| {
            let addresses = (0..1000).map(|number| address(number).parse().expect("an address"));
            addresses
                .filter(|address| log.is_due(client_key(Some(*address))))
                .count()
        };
        assert_eq!(
            lines(&|number| format!("2001:db8::{number:x}")),
            1,
            "one /64"
        );
        let others = lines(&|number| format!("2001:db8:{number:x}::1"));
        assert_eq!(others, MAX_ANONYMOUS - 1);
    }

    #[test]
    fn the_actor_is_read_from_the_claims_and_malformed_tokens_have_none() {
        let actor = |token: &str| {
            let header = HeaderValue::from_str(&format!("Bearer {token}")).expect("a header");
            let token = credential(Some(header)).expect("a token");
            let actor: Option<Actor> = unverified_claims(token.expose_secret());
            actor.map(|actor| (actor.sub, actor.username))
        };
        let claims = URL_SAFE_NO_PAD.encode(r#"{"sub":"7","username":"ann","role":"user"}"#);
        assert_eq!(
            actor(&format!("e30.{claims}.sig")),
            Some(("7".into(), "ann".into()))
        );
        for token in ["a", "a.b.c", "..", "e30.e30.x", "rgk_abcdefgh"] {
            assert_eq!(actor(token), None, "{token}");
        }
        assert!(credential(None).is_none());
    }

    #[test]
    fn api_keys_and_sessions_are_named_by_their_first_8_characters() {
        let key = |credential: &str| start_of(&credential.into(), API_KEY_PREFIX);
        let session = |credential: &str| start_of(&credential.into(), SESSION_PREFIX);
        assert_eq!(key("rgk_abcdefgh").as_deref(), Some("rgk_abcd"));
        assert_eq!(key("rgk_é").as_deref(), Some("rgk_é"));
        assert_eq!(session("rgs_abcdefgh").as_deref(), Some("rgs_abcd"));
        for other in ["a.b.c", "rgs", "rgsabcdefgh", ""] {
            assert_eq!((key(other), session(other)), (None, None), "{other}");
        }
        assert_eq!((key("rgs_abcdefgh"), session("rgk_abcdefgh")), (None, None));
    }
}
