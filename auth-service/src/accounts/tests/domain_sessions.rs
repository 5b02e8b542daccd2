//! Sessions in cookies, and those for a domain.

use super::{NOW, SESSIONS, origin, sessions::app};
use crate::{
    accounts::{ApiKeyRequest, Requirement, SessionRequest},
    audit::Write,
    store::{AuditFilter, AuditStore as _, UserStore as _},
};
use secrecy::ExposeSecret as _;

const IDLE: u64 = SESSIONS.idle;

#[tokio::test]
async fn a_cookie_holds_a_session_of_either_kind_and_one_for_a_domain_is_good_nowhere_else() {
    let (app, ann) = app().await;
    let (session, _) = app.session().await;
    let for_domain = || SessionRequest {
        for_domain: true,
        ..SessionRequest::default()
    };
    let (domain, stored) = app.try_session("sesame", for_domain()).await.expect("made");
    assert!(
        domain.starts_with("rgd_") && stored.prefix == domain[..8],
        "{}",
        stored.prefix
    );
    let token = app.login("ann", "sesame").await.expect("logged in");
    let request = ApiKeyRequest {
        name: "export".to_owned(),
        ..ApiKeyRequest::default()
    };
    let (key, _) = app
        .accounts
        .create_api_key(&token, request)
        .await
        .expect("a key");
    let other_prefix = |token: &str, prefix: &str| format!("{prefix}{}", &token[4..]);
    for (credential, in_header, in_cookie) in [
        (&*session, true, true),
        (&*domain, false, true),
        (&*token, true, false),
        (key.expose_secret(), true, false),
        (&*other_prefix(&domain, "rgs_"), false, false),
        (&*other_prefix(&session, "rgd_"), false, false),
        (&*other_prefix(key.expose_secret(), "rgs_"), false, false),
        ("rgd_", false, false),
        ("", false, false),
    ] {
        assert_eq!(app.is_good(credential).await, in_header, "{credential}");
        assert_eq!(
            app.is_good_from(true, credential).await,
            in_cookie,
            "{credential}"
        );
    }
    // No call of an actor takes it, and its user sees and ends it as any other.
    assert_err!(
        app.accounts
            .authorize(&domain, &Requirement::AnyAuthenticated)
            .await,
        TokenInvalid
    );
    assert_err!(
        app.accounts.revoke_tokens(&domain, None).await,
        TokenInvalid
    );
    assert_eq!(app.ids(&session).await.len(), 2);
    for (made, user) in [(&domain, &ann), (&session, &ann)] {
        assert_eq!(
            &app.accounts.end_cookie_session(made).await.expect("ended"),
            user
        );
        assert!(!app.is_good_from(true, made).await);
    }
    for refused in [&*domain, &*token, key.expose_secret()] {
        assert_err!(app.accounts.end_cookie_session(refused).await, TokenInvalid);
    }
}

#[tokio::test]
async fn a_session_for_a_domain_ends_as_every_other_does() {
    let (app, ann) = app().await;
    let make = async || {
        let request = SessionRequest {
            for_domain: true,
            ..SessionRequest::default()
        };
        app.try_session("sesame", request).await.expect("made").0
    };
    let domain = make().await;
    app.store.set_time(NOW + IDLE - 1);
    assert!(app.is_good_from(true, &domain).await);
    app.store.set_time(NOW + 2 * IDLE);
    assert!(!app.is_good_from(true, &domain).await);
    let domain = make().await;
    app.accounts
        .revoke_tokens(&app.login("ann", "sesame").await.expect("in"), None)
        .await
        .expect("out");
    assert!(!app.is_good_from(true, &domain).await);
    let domain = make().await;
    app.store
        .set_disabled(None, ann.id, true, Write::any())
        .await
        .expect("disabled");
    assert!(!app.is_good_from(true, &domain).await);
}

#[tokio::test]
async fn all_sessions_in_cookies_end_together_and_what_is_none_is_passed_over() {
    let (app, _) = app().await;
    app.register("bob").await.expect("registered");
    let make = async |use_in_domain| {
        let request = SessionRequest {
            for_domain: use_in_domain,
            ..SessionRequest::default()
        };
        app.try_session("sesame", request).await.expect("made").0
    };
    let (one, other, kept) = (make(true).await, make(false).await, make(false).await);
    let of_bob = app
        .accounts
        .create_session(
            "bob",
            "sesame".into(),
            SessionRequest::default(),
            None,
            origin(1),
        )
        .await
        .expect("made")
        .0
        .expose_secret()
        .to_owned();
    let request = ApiKeyRequest {
        name: "export".to_owned(),
        ..ApiKeyRequest::default()
    };
    let (key, _) = app
        .accounts
        .create_api_key(&kept, request)
        .await
        .expect("a key");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let mut cookies: Vec<String> = (0..300).map(|it| format!("rgs_{it:043}")).collect();
    cookies.splice(
        100..100,
        [
            &one,
            &of_bob,
            key.expose_secret(),
            &token,
            "rgs_",
            "",
            &other,
            &one,
        ]
        .map(str::to_owned),
    );
    app.accounts
        .end_cookie_sessions(&cookies)
        .await
        .expect("ended");
    for ended in [&one, &other, &of_bob] {
        assert!(!app.is_good_from(true, ended).await, "{ended}");
    }
    for good in [&kept, &token, key.expose_secret()] {
        assert!(app.is_good(good).await, "{good}");
    }
    // Each is recorded with its user and itself, as a sign-out of one is.
    let recorded = async || {
        let filter = AuditFilter {
            event: "session_ended".to_owned(),
            limit: 10,
            ..AuditFilter::default()
        };
        while app.store.seal().await.expect("sealed") {}
        app.store.audit(&filter).await.expect("read")
    };
    let mut actors = Vec::new();
    for row in recorded().await {
        assert_eq!(row.actor_id, row.user_id);
        actors.extend(row.actor);
    }
    actors.sort_unstable();
    assert_eq!(actors, ["ann", "ann", "bob"]);
    app.accounts
        .end_cookie_sessions(&cookies)
        .await
        .expect("nothing is left");
    assert_eq!(recorded().await.len(), 3);
    app.store.set_read_only(true);
    let kept = [kept];
    assert!(app.accounts.end_cookie_sessions(&kept).await.is_err());
    assert!(app.is_good(&kept[0]).await, "it could not be ended");
}
