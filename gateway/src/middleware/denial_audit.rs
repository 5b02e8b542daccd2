//! Records denied requests in the audit log. A repeated denial is recorded once a minute for each actor and route, so
//! that a caller with a token cannot fill the log.

use crate::extract::credentials::unverified_claims;
use axum::{extract::MatchedPath, response::Response};
use http::HeaderValue;
use rolegate_auth_client::{
    CallError, Reason, User,
    axum::{BearerToken, RequiredGroups, RequiredRoles},
};
use rolegate_http_server::clients::client_key;
use rolegate_program::{audit_line, log_limiter::LogLimiter, request_context::RequestContext};
use rolegate_proto::{
    authorization::bearer_token,
    http::REASON_HEADER,
    limits::{API_KEY_PREFIX, DOMAIN_SESSION_PREFIX, SESSION_PREFIX},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::time::Duration;

/// The time after a recorded denial during which its repetitions are not recorded.
const PERIOD: Duration = Duration::from_mins(1);

/// The maximum number of lines about callers without a known actor within [`PERIOD`].
const MAX_ANONYMOUS: usize = 60;

/// Limits the lines about one actor (a user, an API key or a session) at one method and route.
static DENIALS_BY_ACTOR: LogLimiter<(String, String)> =
    LogLimiter::evicting_when_full(10_000, PERIOD);

/// Limits the lines about callers without a known actor, by client. When it is full, no more lines are written, because
/// an attacker can have any number of addresses.
static ANONYMOUS_DENIALS: LogLimiter<(String, String)> =
    LogLimiter::silent_when_full(MAX_ANONYMOUS, PERIOD);

/// The caller who was denied. A field is `None` if it is not known.
struct DeniedCaller {
    actor: Option<Actor>,
    /// The first characters of the API key, if the caller presented one.
    api_key: Option<String>,
    /// The first characters of the session, if the caller presented one.
    session: Option<String>,
}

/// The user who was denied, from the claims of the token or, for Basic, from the extensions of the response.
#[derive(Deserialize)]
struct Actor {
    sub: String,
    username: String,
}

/// Writes an audit line about a 403 if it is a denial that was not recorded recently. It must be called within the
/// request's context, from which the line takes the client address.
pub(crate) fn record(
    method: &'static str,
    route: Option<&MatchedPath>,
    authorization: Option<HeaderValue>,
    response: &Response,
) {
    // Every error of Rolegate has this header, so a response without it is no denial of Rolegate.
    let Some(reason) = response
        .headers()
        .get(REASON_HEADER)
        .and_then(|reason| reason.to_str().ok())
    else {
        return;
    };
    let route = route.map_or("unmatched", MatchedPath::as_str);
    let caller = DeniedCaller::identify(authorization, response);
    if !caller.claim_line(format!("{method} {route}")) {
        return;
    }
    let actor = caller.actor.as_ref();
    let required_roles = response.extensions().get::<RequiredRoles>();
    let required_groups = response.extensions().get::<RequiredGroups>();
    audit_line!(
        "access_denied",
        actor_id = actor.and_then(|actor| actor.sub.parse::<i64>().ok()),
        actor = actor.map(|actor| actor.username.as_str()),
        api_key = caller.api_key,
        session = caller.session,
        method,
        route,
        required_roles = required_roles.map(|RequiredRoles(roles)| roles.as_ref()),
        required_groups = required_groups.map(|RequiredGroups(groups)| groups.as_str()),
        reason,
    );
}

impl DeniedCaller {
    fn identify(authorization: Option<HeaderValue>, response: &Response) -> Self {
        let credential = denied_credential(authorization, response);
        let credential = credential.as_ref();
        let actor = match response.extensions().get::<User>() {
            Some(user) => Some(Actor {
                sub: user.id.to_string(),
                username: user.username.clone(),
            }),
            // auth-service has verified the token, because it checks the role only after the token.
            None => credential.and_then(|token| unverified_claims(token.expose_secret())),
        };
        let start_of = |prefix| credential.and_then(|credential| start_of(credential, prefix));
        Self {
            actor,
            api_key: start_of(API_KEY_PREFIX),
            session: start_of(SESSION_PREFIX).or_else(|| start_of(DOMAIN_SESSION_PREFIX)),
        }
    }

    /// Claims the right to write a line about this caller and endpoint. Returns `false` if one was written recently, or
    /// if there are too many lines about callers without a known actor.
    fn claim_line(&self, endpoint: String) -> bool {
        let name = match &self.actor {
            Some(actor) => Some(&actor.sub),
            None => self.api_key.as_ref().or(self.session.as_ref()),
        };
        if let Some(name) = name {
            return DENIALS_BY_ACTOR.claim((name.clone(), endpoint));
        }
        let client = client_key(RequestContext::client_address()).to_string();
        ANONYMOUS_DENIALS.claim((client, endpoint))
    }
}

/// Returns the credential that was denied: the session in a cookie, which is in the extensions of the response, or the
/// token in `Authorization`. Returns `None` if nothing may have verified the credential.
fn denied_credential(
    authorization: Option<HeaderValue>,
    response: &Response,
) -> Option<SecretString> {
    let extensions = response.extensions();
    // The cookie comes first, because nothing has verified `Authorization` where only the cookie counts.
    if let Some(BearerToken(session)) = extensions.get() {
        return Some(session.clone());
    }
    // auth-service gives these reasons only after it has verified the credential. After other reasons the credential
    // may be unverified. For example, the gateway refuses forms of other sites before any check.
    let reason = extensions.get().and_then(CallError::reason)?;
    if !reason.is_denial() && reason != Reason::PasswordLinkRequired {
        return None;
    }
    bearer_token(authorization?.as_bytes()).map(SecretString::from)
}

/// Returns the first characters of a credential with this prefix, by which people recognize it, or `None` if it has
/// another prefix. Lists of API keys show the same characters.
fn start_of(credential: &SecretString, prefix: &str) -> Option<String> {
    let credential = credential.expose_secret();
    if !credential.starts_with(prefix) {
        return None;
    }
    Some(credential.chars().take(8).collect())
}

#[cfg(test)]
mod tests {
    use super::{
        API_KEY_PREFIX, Actor, LogLimiter, MAX_ANONYMOUS, PERIOD, SESSION_PREFIX, client_key,
        start_of, unverified_claims,
    };
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

    #[test]
    fn strangers_cannot_fill_the_log() {
        let limiter = LogLimiter::silent_when_full(MAX_ANONYMOUS, PERIOD);
        let lines = |address: &dyn Fn(u32) -> String| {
            let addresses = (0..1000).map(|number| address(number).parse().expect("an address"));
            addresses
                .filter(|address| limiter.claim(client_key(Some(*address))))
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
            let actor: Option<Actor> = unverified_claims(token);
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
