//! Tests of sessions in cookies, and of sessions for the cookie of a domain.

use super::{
    App, NOW, SESSIONS,
    api_keys::create_key,
    bearer, origin,
    sessions::{app, created, tokens},
};
use crate::{
    accounts::{
        ApiKeyRequest, AuthorizationRequest, Requirement, SessionRequest, SessionUse, TokenSource,
        authenticator::session_creation::CreatedSession,
    },
    change::SessionEnd,
    store::UsageKind,
    tokens::TokenKind,
};
use secrecy::ExposeSecret as _;
use std::time::Duration;
use tokio::{
    task::yield_now,
    time::{Instant, pause, timeout},
};

const IDLE: u64 = SESSIONS.idle;
const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_cookie_holds_a_session_of_either_kind_and_one_for_a_domain_is_valid_nowhere_else() {
    let (app, ann) = app().await;
    let (session, _) = app.session().await;
    let created = made(&app, SessionUse::Domain).await;
    let domain = created.token.expose_secret().to_owned();
    let prefix = created.session.prefix;
    assert!(
        domain.starts_with("rgd_") && prefix == domain[..8],
        "{prefix}"
    );
    let token = app.login("ann", "sesame").await.expect("logged in");
    let (key, _) = create_key(&app, &token, None, None).await;
    let other_prefix = |token: &str, prefix: &str| format!("{prefix}{}", &token[4..]);
    for (credential, in_header, in_cookie) in [
        (&*session, true, true),
        (&*domain, false, true),
        (&*token, true, false),
        (&*key, true, false),
        (&*other_prefix(&domain, "rgs_"), false, false),
        (&*other_prefix(&session, "rgd_"), false, false),
        (&*other_prefix(&key, "rgs_"), false, false),
        ("rgd_", false, false),
        ("", false, false),
    ] {
        assert_eq!(app.is_accepted(credential).await, in_header, "{credential}");
        assert_eq!(
            app.is_accepted_in_cookie(credential).await,
            in_cookie,
            "{credential}"
        );
    }
    // No other call accepts the token. Its user sees and ends the session like any other session.
    assert_err!(
        app.authorizer
            .authorize(&domain, &Requirement::AnyAuthenticated)
            .await,
        TokenInvalid
    );
    assert_err!(app.users.revoke_tokens(&domain, None).await, TokenInvalid);
    let (own, _) = app.session().await;
    assert_eq!(app.ids(&own).await.len(), 3);
    for (made, user) in [(&domain, &ann), (&session, &ann)] {
        assert_eq!(
            &app.users.end_cookie_session(made).await.expect("ended"),
            user
        );
        assert!(!app.is_accepted_in_cookie(made).await);
    }
    for refused in [&domain, &token, &key] {
        assert_err!(app.users.end_cookie_session(refused).await, TokenInvalid);
    }
}

#[tokio::test]
async fn a_session_for_a_domain_ends_as_every_other_does() {
    let (app, ann) = app().await;
    let make = async || {
        let created = made(&app, SessionUse::Domain).await;
        created.token.expose_secret().to_owned()
    };
    let domain = make().await;
    app.store.set_time(NOW + IDLE - 1);
    assert!(app.is_accepted_in_cookie(&domain).await);
    app.store.set_time(NOW + 2 * IDLE);
    assert!(!app.is_accepted_in_cookie(&domain).await);
    let domain = make().await;
    app.users
        .revoke_tokens(&app.login("ann", "sesame").await.expect("in"), None)
        .await
        .expect("out");
    assert!(!app.is_accepted_in_cookie(&domain).await);
    let domain = make().await;
    app.set_disabled(ann.id, true).await;
    assert!(!app.is_accepted_in_cookie(&domain).await);
}

#[tokio::test]
async fn all_sessions_in_cookies_end_together_and_what_is_none_is_passed_over() {
    let (app, _) = app().await;
    let users = &app.users;
    app.register("bob").await.expect("registered");
    let make = async |session_use| {
        let created = made(&app, session_use).await;
        created.token.expose_secret().to_owned()
    };
    let (one, other) = (
        make(SessionUse::Domain).await,
        make(SessionUse::Application).await,
    );
    let kept = make(SessionUse::Api).await;
    let of_bob = app
        .authenticator
        .create_session(
            "bob",
            "sesame".into(),
            SessionRequest::default(),
            None,
            origin(1),
        )
        .await;
    let of_bob = created(of_bob)
        .expect("made")
        .token
        .expose_secret()
        .to_owned();
    let (key, _) = create_key(&app, &kept, None, None).await;
    let token = app.login("ann", "sesame").await.expect("logged in");
    let mut cookies: Vec<String> = (0..300).map(|it| format!("rgs_{it:043}")).collect();
    cookies.splice(
        100..100,
        [&one, &of_bob, &key, &token, "rgs_", "", &other, &one].map(str::to_owned),
    );
    users
        .end_cookie_sessions(&cookies, SessionEnd::Alone)
        .await
        .expect("ended");
    for ended in [&one, &other, &of_bob] {
        assert!(!app.is_accepted_in_cookie(ended).await, "{ended}");
    }
    for valid in [&kept, &token, &key] {
        assert!(app.is_accepted(valid).await, "{valid}");
    }
    // Each ended session is recorded with the user and the session, like a sign-out of one session.
    let recorded = async || {
        let mut rows = app.recorded().await;
        rows.retain(|row| row.event == "session_ended");
        rows
    };
    let mut actors = Vec::new();
    for row in recorded().await {
        assert_eq!(row.actor_id, row.user_id);
        actors.extend(row.actor);
    }
    actors.sort_unstable();
    assert_eq!(actors, ["ann", "ann", "bob"]);
    users
        .end_cookie_sessions(&cookies, SessionEnd::Alone)
        .await
        .expect("nothing is left");
    assert_eq!(recorded().await.len(), 3);
    app.store.set_read_only(true);
    let kept = [kept];
    assert!(
        users
            .end_cookie_sessions(&kept, SessionEnd::Alone)
            .await
            .is_err()
    );
    assert!(app.is_accepted(&kept[0]).await, "it could not be ended");
}

async fn made(app: &super::App, session_use: SessionUse) -> CreatedSession {
    let request = SessionRequest {
        session_use,
        ..SessionRequest::default()
    };
    let made = app
        .authenticator
        .create_session("ann", "sesame".into(), request, None, origin(1))
        .await;
    created(made).expect("made")
}

#[tokio::test]
async fn a_session_for_applications_is_valid_in_a_cookie_only() {
    let (app, ann) = app().await;
    let created = made(&app, SessionUse::Application).await;
    let details = created.session.session().expect("a session");
    assert!(created.application_token.is_none() && details.cookie_only);
    let token = created.token.expose_secret();
    assert!(token.starts_with("rgs_"));
    for _ in 0..2 {
        assert!(!app.is_accepted(token).await);
        assert!(app.is_accepted_in_cookie(token).await);
    }
    assert_err!(app.users.revoke_tokens(token, None).await, TokenInvalid);
    assert_err!(app.users.list_sessions(token, None).await, TokenInvalid);
    let request = ApiKeyRequest {
        name: "export".to_owned(),
        ..ApiKeyRequest::default()
    };
    assert_err!(app.users.create_api_key(token, request).await, TokenInvalid);
    let ended = app.users.end_cookie_session(token).await;
    assert_eq!(ended.expect("ended"), ann);
    assert!(!app.is_accepted_in_cookie(token).await);
}

#[tokio::test]
async fn a_session_is_restricted_when_a_cookie_first_presents_it_and_otherwise_not() {
    let (app, _) = app().await;
    // A process of the previous release creates such sessions.
    let (alone, _) = app.session().await;
    let (in_batch, _) = app.session().await;
    let (of_api, _) = app.session().await;
    for token in [&alone, &in_batch, &of_api] {
        assert!(app.is_accepted(token).await, "{token}");
    }
    let any = Requirement::AnyAuthenticated;
    app.authorizer
        .authorize_from(TokenSource::Cookie, &alone, &any)
        .await
        .expect("valid");
    let of_cookie = AuthorizationRequest {
        source: TokenSource::Cookie,
        ..bearer(&in_batch, any.clone())
    };
    let batch = vec![Ok(of_cookie), Ok(bearer(&of_api, any))];
    let outcomes = app.authorizer.authorize_batch(batch).await.expect("read");
    assert!(outcomes.iter().all(Result::is_ok));
    // The batch does not wait until the session is restricted.
    let is_restricted = async {
        while app.is_accepted(&in_batch).await {
            yield_now().await;
        }
    };
    timeout(MINUTE, is_restricted).await.expect("restricted");
    for (token, in_header) in [(&alone, false), (&in_batch, false), (&of_api, true)] {
        assert_eq!(app.is_accepted(token).await, in_header, "{token}");
    }
    // While the database cannot be written, a session in a cookie is still accepted, although it
    // cannot be restricted.
    let (late, _) = app.session().await;
    app.store.set_read_only(true);
    assert!(app.is_accepted_in_cookie(&late).await);
    assert!(app.is_accepted(&late).await, "it could not be restricted");
    app.store.set_read_only(false);
    assert!(app.is_accepted_in_cookie(&late).await);
    assert!(!app.is_accepted(&late).await);
}

/// Returns how long a decision for a token in a cookie waits, alone or in a batch, while sessions
/// cannot be restricted. Virtual time passes only while a task waits.
async fn wait_of_decision(app: &App, token: &str, is_batch: bool) -> Duration {
    let started = Instant::now();
    let any = Requirement::AnyAuthenticated;
    if is_batch {
        let of_cookie = AuthorizationRequest {
            source: TokenSource::Cookie,
            ..bearer(token, any)
        };
        let outcomes = app.authorizer.authorize_batch(vec![Ok(of_cookie)]).await;
        assert!(outcomes.expect("read")[0].is_ok());
    } else {
        let admitted = app
            .authorizer
            .authorize_from(TokenSource::Cookie, token, &any)
            .await;
        admitted.expect("valid");
    }
    started.elapsed()
}

#[tokio::test]
async fn a_session_that_cannot_be_restricted_slows_down_its_own_decision_only() {
    let (app, _) = app().await;
    let (session, _) = app.session().await;
    let request = SessionRequest {
        session_use: SessionUse::Domain,
        ..SessionRequest::default()
    };
    let (domain, stored) = app.try_session("sesame", request).await.expect("made");
    app.store.lift_restriction(stored.id);
    app.store.stall_restrictions();
    pause();
    let wait = async |token: &str, is_batch| wait_of_decision(&app, token, is_batch).await;
    for _ in 0..3 {
        assert_eq!(wait(&session, true).await, Duration::ZERO, "its neighbours");
    }
    assert!(wait(&session, false).await > Duration::ZERO);
    // This session was never valid as a bearer token, so there is nothing to restrict.
    assert_eq!(wait(&domain, false).await, Duration::ZERO);

    // No write is tried while the store knows that it cannot write.
    app.store.set_read_only(true);
    app.store.note_use(UsageKind::Token, stored.id, NOW);
    assert_eq!(wait(&session, false).await, Duration::ZERO);
    app.store.set_read_only(false);
    assert!(wait(&session, false).await > Duration::ZERO);
}

#[tokio::test]
async fn one_sign_in_makes_both_sessions_and_is_one_where_people_see_them() {
    let (app, _) = app().await;
    let created = made(&app, SessionUse::ApiAndApplication).await;
    let console = created.token.expose_secret().to_owned();
    let application = created.application_token.expect("the second one");
    let application = application.expose_secret().to_owned();
    assert!(application != console && application.starts_with("rgs_"));
    for (token, in_header) in [(&console, true), (&application, false)] {
        assert_eq!(app.is_accepted(token).await, in_header);
    }
    assert!(app.is_accepted_in_cookie(&application).await);
    // The two sessions are one entry of the list, with the later of their last uses.
    app.store.set_time(NOW + 600);
    assert!(app.is_accepted_in_cookie(&application).await);
    let listed = app.users.list_sessions(&console, None).await;
    let listed = listed.expect("listed").sessions;
    let [only] = &listed[..] else {
        panic!("one sign-in: {listed:?}");
    };
    assert_eq!(
        (only.id, only.last_used_at),
        (created.session.id, Some(NOW + 600))
    );
    // Deleting the entry ends both sessions, even if another session deletes it. Ending all other
    // sessions ends neither of the two.
    let (elsewhere, _) = app.session().await;
    let end = async |token: &str, id| {
        app.users
            .delete_tokens(TokenKind::Session, token, None, tokens(id))
            .await
            .expect("ended")
            .len()
    };
    assert_eq!(end(&console, None).await, 1);
    assert!(!app.is_accepted(&elsewhere).await);
    assert!(app.is_accepted_in_cookie(&application).await);
    let (elsewhere, _) = app.session().await;
    assert_eq!(end(&elsewhere, Some(only.id)).await, 2);
    assert!(!app.is_accepted(&console).await && !app.is_accepted_in_cookie(&application).await);
    // A logout with the API session ends both sessions of the sign-in. A session that is not used
    // for too long ends alone, and the other one stays in the list.
    let created = made(&app, SessionUse::ApiAndApplication).await;
    let application = created.application_token.expect("the second one");
    app.users
        .revoke_tokens(created.token.expose_secret(), None)
        .await
        .expect("logged out");
    assert!(!app.is_accepted_in_cookie(application.expose_secret()).await);
    let created = made(&app, SessionUse::ApiAndApplication).await;
    let application = created.application_token.expect("the second one");
    app.store.set_time(NOW + 600 + IDLE - 1);
    assert!(app.is_accepted_in_cookie(application.expose_secret()).await);
    app.store.set_time(NOW + 600 + IDLE);
    assert!(!app.is_accepted(created.token.expose_secret()).await);
    assert!(app.is_accepted_in_cookie(application.expose_secret()).await);
    let (elsewhere, other) = app.session().await;
    let ids = app.ids(&elsewhere).await;
    assert_eq!(ids, [created.session.id + 1, other.id]);
}

#[tokio::test]
async fn one_sign_in_makes_a_session_for_the_api_and_one_for_a_domain() {
    let (app, _) = app().await;
    let created = made(&app, SessionUse::ApiAndDomain).await;
    let console = created.token.expose_secret().to_owned();
    let domain = created.application_token.expect("the second one");
    let domain = domain.expose_secret().to_owned();
    assert!(console.starts_with("rgs_") && domain.starts_with("rgd_"));
    for (token, in_header) in [(&console, true), (&domain, false)] {
        assert_eq!(app.is_accepted(token).await, in_header);
    }
    assert!(app.is_accepted_in_cookie(&domain).await);
    let listed = app.users.list_sessions(&console, None).await;
    let listed = listed.expect("listed").sessions;
    assert_eq!(listed.len(), 1, "one sign-in: {listed:?}");
    app.users
        .end_cookie_sessions(std::slice::from_ref(&domain), SessionEnd::WithPairs)
        .await
        .expect("ended");
    assert!(!app.is_accepted(&console).await && !app.is_accepted_in_cookie(&domain).await);
}

#[tokio::test]
async fn one_password_and_one_code_make_both_sessions() {
    let (app, _) = app().await;
    let wrong = |session_use| SessionRequest {
        session_use,
        ..SessionRequest::default()
    };
    // The limit is three failures. Each attempt is one failure, whatever sessions it requests.
    for _ in 0..3 {
        let refused = app
            .try_session("open!", wrong(SessionUse::ApiAndApplication))
            .await;
        assert_err!(refused, CredentialsInvalid);
    }
    let refused = app
        .try_session("sesame", wrong(SessionUse::ApiAndApplication))
        .await;
    assert_err!(refused, TooManyAttempts);
}
