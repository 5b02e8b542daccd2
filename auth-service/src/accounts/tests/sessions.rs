//! Tests of how sessions are created, used and ended.

use super::{App, NOW, POLICY, SESSIONS, api_keys::create_key, bearer, changes::owner, origin};
use crate::{
    accounts::{
        AccountError, ApiKeyRequest, AuthorizationRequest, Requirement, SessionOutcome,
        SessionRequest, TokenSource, authenticator::session_creation::CreatedSession,
    },
    change::TokenSelection,
    principal::Principal,
    tokens::{OpaqueToken, TokenKind},
    user::User,
};
use rolegate_proto::{Reason, Role, UnknownRole};
use secrecy::ExposeSecret as _;

const IDLE: u64 = SESSIONS.idle;
const MAX: u64 = SESSIONS.max;

/// Returns the created session. Panics if the outcome is [`SessionOutcome::CodeRequired`].
pub(super) fn created(
    outcome: Result<SessionOutcome, AccountError>,
) -> Result<CreatedSession, AccountError> {
    match outcome? {
        SessionOutcome::Created(created) => Ok(created),
        SessionOutcome::CodeRequired { .. } => panic!("a code is asked for"),
    }
}

/// Selects the token with this id, or all tokens.
pub(super) fn tokens(id: Option<i64>) -> TokenSelection {
    id.map_or(TokenSelection::All, TokenSelection::One)
}

impl App {
    pub(super) async fn try_session(
        &self,
        password: &str,
        request: SessionRequest,
    ) -> Result<(String, OpaqueToken), AccountError> {
        let made = self
            .authenticator
            .create_session("ann", password.into(), request, None, origin(1))
            .await;
        let made = created(made)?;
        Ok((made.token.expose_secret().to_owned(), made.session))
    }

    /// Creates a session of the user ann.
    pub(super) async fn session(&self) -> (String, OpaqueToken) {
        self.try_session("sesame", SessionRequest::default())
            .await
            .expect("made")
    }

    /// Returns true if the token is accepted as a bearer token, alone and in a batch.
    pub(super) async fn is_accepted(&self, token: &str) -> bool {
        self.is_accepted_from(TokenSource::Bearer, token).await
    }

    /// Returns true if the token is accepted in a cookie, alone and in a batch.
    pub(super) async fn is_accepted_in_cookie(&self, token: &str) -> bool {
        self.is_accepted_from(TokenSource::Cookie, token).await
    }

    async fn is_accepted_from(&self, source: TokenSource, token: &str) -> bool {
        let requirement = Requirement::AnyAuthenticated;
        let alone = self
            .authorizer
            .authorize_from(source, token, &requirement)
            .await;
        let bearer = AuthorizationRequest {
            source,
            ..bearer(token, requirement)
        };
        let batch = self
            .authorizer
            .authorize_batch(vec![Ok(bearer)])
            .await
            .expect("read")
            .pop();
        for outcome in [&alone, batch.as_ref().expect("one outcome")] {
            let reason = outcome.as_ref().err().map(AccountError::reason);
            assert!(
                matches!(reason, None | Some(Reason::TokenInvalid)),
                "{reason:?}"
            );
            assert_eq!(reason.is_none(), alone.is_ok());
        }
        alone.is_ok()
    }

    pub(super) async fn ids(&self, token: &str) -> Vec<i64> {
        let listed = self.users.list_sessions(token, None).await.expect("listed");
        listed
            .sessions
            .into_iter()
            .map(|session| session.id)
            .collect()
    }
}

pub(super) async fn app() -> (App, User) {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    (app, ann)
}

#[tokio::test]
async fn a_session_acts_with_the_role_stored_now_and_for_everything_that_its_user_may() {
    let (app, ann) = app().await;
    let (token, _) = app.session().await;
    for role in [Role::USER, Role::ADMIN, Role::AUTHOR] {
        app.set_role(ann.id, role).await;
        let actor = app
            .authorizer
            .authorize(&token, &Requirement::AnyAuthenticated)
            .await;
        assert_eq!(
            actor.expect("valid").user,
            User {
                role,
                ..ann.clone()
            }
        );
    }
    create_key(&app, &token, None, None).await;
    app.users
        .delete_tokens(TokenKind::ApiKey, &token, None, tokens(None))
        .await
        .expect("deleted");
    app.set_disabled(ann.id, true).await;
    assert!(!app.is_accepted(&token).await);
    app.set_disabled(ann.id, false).await;
    assert!(!app.is_accepted(&token).await, "it has ended");
    let (token, _) = app.session().await;
    app.delete_user(ann.id).await;
    assert!(!app.is_accepted(&token).await);
}

#[tokio::test]
async fn a_session_is_made_with_the_checks_of_a_login() {
    let (app, ann) = app().await;
    let wrong = async || app.try_session("open!", SessionRequest::default()).await;
    app.set_disabled(ann.id, true).await;
    assert_err!(
        app.try_session("sesame", SessionRequest::default()).await,
        CredentialsInvalid
    );
    app.set_disabled(ann.id, false).await;
    assert_err!(wrong().await, CredentialsInvalid);
    assert_err!(wrong().await, CredentialsInvalid);
    assert_err!(wrong().await, TooManyAttempts);
    assert_err!(app.login("ann", "sesame").await, TooManyAttempts);
}

#[tokio::test]
async fn a_name_is_checked_before_the_password_and_the_user_agent_is_kept_in_bounds() {
    let (app, _) = app().await;
    let named = |name: &str| SessionRequest {
        name: Some(name.to_owned()),
        ..Default::default()
    };
    for name in ["", " a", "a\n", &"x".repeat(101), "\u{202e}a"] {
        assert_err!(app.try_session("open!", named(name)).await, SessionInvalid);
    }
    let long = format!("Mozilla/5.0\r\n\u{7f}{}", "é".repeat(400));
    let request = SessionRequest {
        user_agent: long,
        ..named("laptop")
    };
    let (_, session) = app.try_session("sesame", request).await.expect("made");
    let details = session.session().cloned().expect("a session");
    let agent = details.user_agent.expect("kept");
    assert_eq!((agent.len(), &agent[..13]), (255, "Mozilla/5.0é"));
    assert_eq!(session.name, "laptop");
    assert_eq!(details.client_address.as_deref(), Some("192.0.2.1"));
    let (_, session) = app.session().await;
    let details = session.session().cloned().expect("a session");
    assert_eq!((session.name.as_str(), details.user_agent), ("", None));
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_or_old_and_never_lives_again() {
    let (app, _) = app().await;
    let ((idle, _), (used, session)) = (app.session().await, app.session().await);
    assert_eq!(session.expires_at, Some(NOW + MAX));
    assert_eq!(
        session.idle_expires_at(app.policy.sessions.idle),
        NOW + IDLE
    );
    app.store.set_time(NOW + IDLE - 1);
    assert!(app.is_accepted(&used).await);
    app.store.set_time(NOW + IDLE);
    assert!(!app.is_accepted(&idle).await && app.is_accepted(&used).await);
    app.store.set_time(NOW);
    assert!(
        !app.is_accepted(&idle).await,
        "a clock that was ahead ends it too"
    );
    for time in (IDLE..MAX).step_by(usize::try_from(IDLE).expect("small") - 1) {
        app.store.set_time(NOW + time);
        assert!(app.is_accepted(&used).await, "{time}");
    }
    app.store.set_time(NOW + MAX - 1);
    assert!(app.is_accepted(&used).await);
    app.store.set_time(NOW + MAX);
    assert!(!app.is_accepted(&used).await);
}

#[tokio::test]
async fn a_session_that_was_used_by_a_clock_far_ahead_ends() {
    let (app, _) = app().await;
    for ahead in [IDLE, 365 * 86_400] {
        app.store.set_time(NOW + ahead);
        let (token, _) = app.session().await;
        app.store.set_time(NOW);
        assert!(!app.is_accepted(&token).await);
        app.store.set_time(NOW + ahead);
        assert!(!app.is_accepted(&token).await, "it has ended");
    }
    app.store.set_time(NOW + IDLE - 1);
    let (token, _) = app.session().await;
    app.store.set_time(NOW);
    assert!(
        app.is_accepted(&token).await,
        "a clock that was set back a little"
    );
}

#[tokio::test]
async fn a_session_in_use_does_not_idle_out_while_its_uses_cannot_be_written() {
    let (app, _) = app().await;
    let ((idle, _), (used, _)) = (app.session().await, app.session().await);
    app.store.set_time(NOW + 5);
    assert!(app.is_accepted(&used).await);
    app.store.set_time(NOW + IDLE);
    app.store.set_read_only(true);
    // This session was already idle for too long when the pause began.
    assert!(!app.is_accepted(&idle).await);
    assert!(app.is_accepted(&used).await);
    let (elsewhere, _) = app.session().await;
    app.store.set_time(NOW + 2 * IDLE);
    assert!(!app.is_accepted(&idle).await);
    assert!(app.is_accepted(&used).await);
    assert!(
        app.is_accepted(&elsewhere).await,
        "its uses on other replicas are unknown"
    );
    app.store.set_time(NOW + 3 * IDLE);
    app.store.set_read_only(false);
    assert!(!app.is_accepted(&idle).await);
    assert!(
        app.is_accepted(&used).await && app.is_accepted(&elsewhere).await,
        "time during which uses could not be written does not count"
    );
    app.store.set_time(NOW + 4 * IDLE - 1);
    assert!(app.is_accepted(&used).await);
    app.store.set_time(NOW + 4 * IDLE);
    assert!(!app.is_accepted(&elsewhere).await, "it was not used since");
    app.store.set_time(NOW + 5 * IDLE);
    assert!(!app.is_accepted(&used).await);
}

#[tokio::test]
async fn a_pause_of_writes_prolongs_no_session_beyond_its_end_and_lists_it_meanwhile() {
    let (app, _) = app().await;
    let (token, _) = app.session().await;
    app.store.set_read_only(true);
    // The service notices the pause only when a write fails.
    app.store.set_time(NOW + 1);
    assert!(app.is_accepted(&token).await);
    let listed = async || {
        app.users
            .list_sessions(&token, None)
            .await
            .map(|listed| listed.sessions.len())
    };
    app.store.set_time(NOW + 2 * IDLE);
    assert_eq!(listed().await.expect("listed"), 1);
    app.store.set_read_only(false);
    app.store.set_time(NOW + 3 * IDLE - 1);
    assert_eq!(listed().await.expect("listed"), 1);
    app.store.set_read_only(true);
    app.store.set_time(NOW + MAX);
    assert!(!app.is_accepted(&token).await, "it is too old");
}

#[tokio::test]
async fn a_logout_by_a_session_ends_only_that_and_one_by_an_access_token_ends_all() {
    let (app, ann) = app().await;
    let users = &app.users;
    let token = app.login("ann", "sesame").await.expect("logged in");
    let ((one, _), (two, _)) = (app.session().await, app.session().await);
    users.revoke_tokens(&one, None).await.expect("logged out");
    assert!(
        !app.is_accepted(&one).await
            && app.is_accepted(&two).await
            && app.is_accepted(&token).await
    );
    assert_err!(users.revoke_tokens(&one, None).await, TokenInvalid);
    users.revoke_tokens(&token, None).await.expect("logged out");
    assert!(!app.is_accepted(&two).await && !app.is_accepted(&token).await);
    let (three, _) = app.session().await;
    users
        .revoke_tokens(&app.admin, Some(ann.id))
        .await
        .expect("an admin");
    assert!(!app.is_accepted(&three).await);
}

/// Tests times that were stored while the clock was ahead: later revocations keep or lower them.
#[tokio::test]
async fn sessions_end_with_tokens_also_where_their_time_is_in_the_future() {
    let (app, ann) = app().await;
    for by in [app.by_admin().await, Principal::Operator] {
        app.store.set_time(NOW + 86_400);
        app.revoke_tokens(Principal::Operator, ann.id).await;
        let (token, _) = app.session().await;
        app.store.set_time(NOW);
        app.revoke_tokens(by, ann.id).await;
        for time in [NOW, NOW + 86_400] {
            app.store.set_time(time);
            assert!(!app.is_accepted(&token).await);
        }
    }
}

#[tokio::test]
async fn a_new_password_ends_all_sessions_but_the_one_that_sets_it() {
    let (app, ann) = app().await;
    let users = &app.users;
    let ((own, _), (other, _)) = (app.session().await, app.session().await);
    let token = app.login("ann", "sesame").await.expect("logged in");
    let change = users.change_password(&own, "sesame".into(), "open!".into(), origin(1));
    change.await.expect("changed");
    assert!(
        app.is_accepted(&own).await
            && !app.is_accepted(&other).await
            && !app.is_accepted(&token).await
    );
    let (made, _) = app
        .try_session("open!", SessionRequest::default())
        .await
        .expect("made");
    users
        .revoke_tokens(&app.admin, Some(ann.id))
        .await
        .expect("revoked");
    assert!(
        !app.is_accepted(&own).await && !app.is_accepted(&made).await,
        "it has no other privilege"
    );
    let (own, _) = app
        .try_session("open!", SessionRequest::default())
        .await
        .expect("made");
    let set = users.set_password(&app.admin, ann.id, "sesame".into(), origin(1));
    set.await.expect("set");
    assert!(!app.is_accepted(&own).await);
}

#[tokio::test]
async fn a_login_that_is_overtaken_by_a_revocation_is_checked_once_more() {
    let (app, _) = app().await;
    app.store.revoke_before_next_token();
    let (token, session) = app.session().await;
    let details = session.session().expect("a session");
    assert!(app.is_accepted(&token).await && details.not_before > 0);
}

#[tokio::test]
async fn an_ended_session_makes_no_key_and_sets_no_password() {
    let (app, ann) = app().await;
    let (_, session) = app.session().await;
    let seen = session.session().expect("a session").not_before;
    let by = |tokens_not_before| {
        let user = User {
            tokens_not_before,
            ..ann.clone()
        };
        owner(user, session.id)
    };
    app.users
        .revoke_tokens(&app.session().await.0, None)
        .await
        .expect("another one");
    let user = app
        .set_password_hash(by(seen), ann.id, "hash")
        .await
        .expect("still valid");
    app.delete_token(TokenKind::Session, ann.id, session.id)
        .await;
    let late = by(user.tokens_not_before);
    assert!(app.set_password_hash(late, ann.id, "hash").await.is_err());
}

#[tokio::test]
async fn sessions_are_listed_until_they_end_and_ended_but_for_the_current_one() {
    let (app, ann) = app().await;
    let users = &app.users;
    let ((one, first), (two, second), (_, third)) = (
        app.session().await,
        app.session().await,
        app.session().await,
    );
    assert_eq!(app.ids(&one).await, [first.id, second.id, third.id]);
    let listed = users.list_sessions(&two, None).await.expect("listed");
    assert_eq!(listed.current_id, Some(second.id));
    let end = async |token: &str, user, id| {
        users
            .delete_tokens(TokenKind::Session, token, user, tokens(id))
            .await
    };
    end(&one, None, Some(third.id)).await.expect("ended");
    assert_err!(end(&one, None, Some(third.id)).await, SessionNotFound);
    assert_eq!(end(&two, None, None).await.expect("ended").len(), 1);
    assert!(!app.is_accepted(&one).await && app.is_accepted(&two).await);
    assert_eq!(app.ids(&two).await, [second.id]);
    assert_err!(end(&two, Some(1), None).await, RoleInsufficient);
    assert_err!(end(&app.admin, Some(999), None).await, UserNotFound);
    // The id of an API key does not name a session.
    let (key, key_id) = create_key(&app, &two, None, None).await;
    assert_err!(end(&two, None, Some(key_id)).await, SessionNotFound);
    for id in [None, Some(second.id)] {
        assert_err!(end(&key, None, id).await, RoleInsufficient);
    }
    assert_eq!(app.ids(&key).await, [second.id]);
    app.store.set_time(NOW + IDLE);
    let token = app.login("ann", "sesame").await.expect("logged in");
    assert_eq!(app.ids(&token).await, [0; 0]);
    let admin = app.login("admin", "sesame").await.expect("logged in");
    assert_eq!(
        end(&admin, Some(ann.id), None).await.expect("ended").len(),
        1
    );
}

#[tokio::test]
async fn an_admin_creates_keys_of_others_and_the_key_says_who_did() {
    let (app, ann) = app().await;
    let (session, _) = app.session().await;
    let create = async |token: &str, user_id, role: Option<Result<Role, UnknownRole>>| {
        let name = "service".to_owned();
        let request = ApiKeyRequest {
            user_id,
            name,
            role,
            groups: None,
            expires_at: None,
        };
        app.users
            .create_api_key(token, request)
            .await
            .map(|created| (created.key.expose_secret().to_owned(), created.stored))
    };
    let role = Some(Ok(Role::AUTHOR));
    let admin = app.admin.as_str();
    let (key, stored) = create(admin, Some(ann.id), role).await.expect("created");
    assert_eq!(
        (stored.user_id, stored.created_by()),
        (ann.id, Some("admin"))
    );
    assert_eq!(
        app.authorizer
            .authorize(&key, &Requirement::AnyAuthenticated)
            .await
            .expect("valid")
            .user
            .username,
        "ann"
    );
    for role in [None, Some(Err(UnknownRole)), Some(Ok(Role::ADMIN))] {
        assert_err!(create(admin, Some(ann.id), role).await, RoleInvalid);
    }
    assert_err!(create(admin, Some(999), role).await, UserNotFound);
    assert_err!(create(&session, Some(ann.id), role).await, RoleInsufficient);
    assert_err!(create(admin, Some(1), role).await, ApiKeyInvalid);
    app.set_role(ann.id, Role::ADMIN).await;
    assert_err!(create(admin, Some(ann.id), role).await, ApiKeyInvalid);
    let (own, _) = create(admin, None, None).await.expect("one's own");
    app.set_role(ann.id, Role::USER).await;
    assert_err!(create(&own, Some(ann.id), role).await, RoleInsufficient);
}
