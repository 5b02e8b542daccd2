//! Tests of the rules of the use cases, on an SQLite file.

mod imported;

use super::{
    ADMIN_USERNAME, AccountError, AdminPassword, AuthorizationRequest, BasicCredentials,
    InitialPassword, Policy, Requirement, Services, SessionLimits, TokenSource, UserUpdateRequest,
};
use crate::{
    call_origin::CallOrigin,
    password::{Hasher, PasswordRules, Peppers},
    roles::Roles,
    second_factor::{Mode, SecondFactorPolicy},
    store::UserStore,
    tokens::{self, AccessTokens, Keyring},
    user::User,
};
use rolegate_http_server::clients::{ClientSlot, MAX_LOGINS_PER_CLIENT};
use rolegate_proto::{Role, UnknownRole};
use secrecy::{ExposeSecret, SecretString};
use std::{
    ops::Deref,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;

const POLICY: Policy = Policy {
    passwords: PasswordRules {
        min_length: 4,
        blocklist: None,
    },
    login_failure_limit: 3,
    basic_cache_ttl: Duration::from_mins(5),
    registration_open: true,
    registration_limit: 0,
    roles: Roles::BUILT_IN,
    sessions: SESSIONS,
    admins_set_passwords: true,
    second_factor: SecondFactorPolicy {
        mode: Mode::Optional,
        keys: None,
    },
};

const SESSIONS: SessionLimits = SessionLimits {
    idle: 43_200,
    max: 2_592_000,
};

/// The time of the store's clock at the beginning of each test, in Unix seconds.
const NOW: u64 = 1_800_000_000;

/// The use cases on a store of their own, with an access token of the seeded admin.
struct App {
    services: Services,
    store: Arc<UserStore>,
    admin: String,
}

/// Lets a test call the services directly, such as `app.users.create_user(…)`.
impl Deref for App {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl App {
    async fn new(policy: Policy) -> Self {
        let app = Self::unseeded(policy, InitialPassword::default());
        app.users
            .seed_admin(&AdminPassword::Given("sesame".into()))
            .await
            .expect("seeded");
        let admin = app
            .login(ADMIN_USERNAME, "sesame")
            .await
            .expect("logged in");
        Self { admin, ..app }
    }

    fn unseeded(policy: Policy, initial_password: InitialPassword) -> Self {
        let store = Arc::new(UserStore::open_at(NOW));
        let services = Services::new(
            store.clone(),
            hasher(),
            access_tokens(),
            policy,
            initial_password,
        );
        Self {
            services: services.expect("randomness"),
            store,
            admin: String::new(),
        }
    }

    async fn register(&self, username: &str) -> Result<User, AccountError> {
        self.users
            .register(username, "sesame".into(), origin(1))
            .await
    }

    async fn login(&self, username: &str, password: &str) -> Result<String, AccountError> {
        let login = self
            .authenticator
            .login(username, password.into(), None, origin(1))
            .await;
        login.map(|issued| issued.access_token.expose_secret().to_owned())
    }

    async fn verify(&self, username: &str, password: &str) -> Result<User, AccountError> {
        let check = basic_check(username, password, 1);
        let verified = self.authenticator.verify_credentials(check).await;
        verified.map(|verified| verified.user)
    }

    async fn authorize(&self, token: &str, roles: &[Role]) -> Result<User, AccountError> {
        let requirement = Requirement::AnyOf {
            roles: roles.to_vec(),
            groups: Vec::new(),
        };
        self.authorizer
            .authorize(token, &requirement)
            .await
            .map(|actor| actor.user)
    }

    /// Takes all slots that the client of `origin(1)` may have in the password engine, so that a
    /// check of a password has to wait.
    async fn take_slots(&self) -> Vec<ClientSlot> {
        let mut slots = Vec::new();
        for _ in 0..MAX_LOGINS_PER_CLIENT {
            let slot = self.authenticator.hasher.admit(origin(1)).await;
            slots.push(slot.expect("below its share"));
        }
        slots
    }
}

fn hasher() -> Hasher {
    let engine = rolegate_bcrypt_lanes::Settings {
        threads: 1,
        ..Default::default()
    };
    Hasher::start(4, engine, Peppers::default()).expect("started")
}

fn access_tokens() -> AccessTokens {
    assert!(tokens::self_test());
    let keyring = Keyring::new(&SecretString::from("0123456789abcdef0123456789abcdef"), &[]);
    AccessTokens::new(keyring.expect("long enough"))
}

fn origin(host: u8) -> CallOrigin {
    let deadline = Instant::now() + Duration::from_mins(1);
    CallOrigin {
        client_address: Some([192, 0, 2, host].into()),
        deadline,
    }
}

/// Returns credentials with a password that is not accepted as an API key.
fn basic_check(username: &str, password: &str, host: u8) -> BasicCredentials {
    BasicCredentials {
        username: username.to_owned(),
        password: password.into(),
        accept_api_keys: false,
        requirement: Requirement::AnyAuthenticated,
        origin: origin(host),
    }
}

fn bearer(token: &str, requirement: Requirement) -> AuthorizationRequest {
    AuthorizationRequest {
        credential: token.to_owned(),
        source: TokenSource::Bearer,
        requirement,
        client_address: None,
    }
}

macro_rules! assert_err {
    ($outcome:expr, $reason:ident) => {
        let outcome = $outcome.map(drop).map_err(|error| error.reason());
        assert_eq!(outcome, Err(rolegate_proto::Reason::$reason));
    };
}

// The macro is defined above, so that these modules can use it.
mod additions;
mod api_keys;
mod changes;
mod domain_sessions;
mod keys_as_passwords;
mod pending_sign_ins;
mod recall;
mod record;
mod revoked_tokens;
mod roles;
mod second_factor;
mod seed;
mod services;
mod sessions;
mod sign_ins;
mod user_update;
mod users;
mod watch;

#[tokio::test]
async fn registered_user_logs_in_with_the_role_user() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    assert_eq!(ann.role, Role::USER);
    let token = app.login("ann", "sesame").await.expect("logged in");
    assert_eq!(
        app.authorize(&token, &[Role::USER]).await.expect("allowed"),
        ann
    );
    assert_err!(
        app.authorize(&token, &[Role::ADMIN]).await,
        RoleInsufficient
    );
}

#[tokio::test]
async fn registration_rejects_taken_and_invalid_names_and_short_passwords() {
    let app = App::new(POLICY).await;
    app.register("ann").await.expect("registered");
    assert_err!(app.register("ann").await, UsernameTaken);
    assert_err!(app.register("a:b").await, UsernameInvalid);
    let short = app.users.register("bob", "abc".into(), origin(1)).await;
    assert_err!(short, PasswordInvalid);
}

#[tokio::test]
async fn closed_and_limited_registration_is_rejected() {
    let closed = App::new(Policy {
        registration_open: false,
        ..POLICY
    })
    .await;
    assert_err!(closed.register("ann").await, RegistrationClosed);
    let limited = App::new(Policy {
        registration_limit: 1,
        ..POLICY
    })
    .await;
    limited.register("ann").await.expect("registered");
    assert_err!(limited.register("bob").await, TooManyAttempts);
    limited
        .users
        .register("bob", "sesame".into(), origin(2))
        .await
        .expect("other address");
}

#[tokio::test]
async fn a_registration_beyond_the_share_of_a_client_waits_for_its_turn() {
    let app = App::new(POLICY).await;
    let slots = app.take_slots().await;
    let mut ann = pin!(app.register("ann"));
    assert!(timeout(Duration::ZERO, &mut ann).await.is_err());
    app.users
        .register("bob", "sesame".into(), origin(2))
        .await
        .expect("of another client");
    assert!(timeout(Duration::ZERO, &mut ann).await.is_err());
    drop(slots);
    ann.await.expect("registered");
}

#[tokio::test]
async fn unknown_and_invalid_usernames_get_the_error_of_a_wrong_password() {
    let app = App::new(POLICY).await;
    for username in [ADMIN_USERNAME, "stranger", "a:b"] {
        assert_err!(app.login(username, "wrong").await, CredentialsInvalid);
        assert_err!(app.verify(username, "wrong").await, CredentialsInvalid);
    }
}

#[tokio::test]
async fn failed_logins_are_limited_per_username_and_address() {
    let app = App::new(POLICY).await;
    app.register("ann").await.expect("registered");
    for _ in 0..3 {
        assert_err!(app.login("ann", "wrong").await, CredentialsInvalid);
        // A correct password is refunded, so it does not count as a failure.
        app.login(ADMIN_USERNAME, "sesame")
            .await
            .expect("logged in");
    }
    assert_err!(app.login("ann", "sesame").await, TooManyAttempts);
    assert_err!(app.verify("ann", "sesame").await, TooManyAttempts);
    app.authenticator
        .login("ann", "sesame".into(), None, origin(2))
        .await
        .expect("other address");
}

#[tokio::test]
async fn successes_are_cached_and_no_attempt_but_failures_are_not() {
    let app = App::new(POLICY).await;
    app.verify(ADMIN_USERNAME, "sesame")
        .await
        .expect("verified");
    for _ in 0..3 {
        assert_err!(
            app.verify(ADMIN_USERNAME, "wrong").await,
            CredentialsInvalid
        );
    }
    assert_err!(app.verify(ADMIN_USERNAME, "wrong").await, TooManyAttempts);
    assert_err!(app.login(ADMIN_USERNAME, "sesame").await, TooManyAttempts);
    assert_err!(app.verify(ADMIN_USERNAME, "sesame").await, TooManyAttempts);
    let elsewhere = app
        .authenticator
        .verify_credentials(basic_check(ADMIN_USERNAME, "sesame", 2));
    elsewhere.await.expect("another client");
}

#[tokio::test]
async fn changed_password_revokes_tokens_and_cached_credentials() {
    let app = App::new(POLICY).await;
    app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    app.verify("ann", "sesame").await.expect("verified");
    let change = app
        .users
        .change_password(&token, "sesame".into(), "open!".into(), origin(1));
    change.await.expect("changed");
    assert_err!(app.authorize(&token, &[Role::USER]).await, TokenInvalid);
    assert_err!(app.verify("ann", "sesame").await, CredentialsInvalid);
    let token = app.login("ann", "open!").await.expect("logged in");
    app.authorize(&token, &[Role::USER])
        .await
        .expect("issued after the change");
}

#[tokio::test]
async fn wrong_current_passwords_count_as_login_failures() {
    let app = App::new(POLICY).await;
    let change = || {
        app.users
            .change_password(&app.admin, "x".into(), "open!".into(), origin(1))
    };
    for _ in 0..3 {
        assert_err!(change().await, CurrentPasswordWrong);
    }
    assert_err!(change().await, TooManyAttempts);
}

#[tokio::test]
async fn stored_role_decides_for_tokens_issued_before() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let set = app
        .users
        .set_user_role(&app.admin, ann.id, Ok(Role::AUTHOR))
        .await;
    assert_eq!(set.expect("set").role, Role::AUTHOR);
    app.authorize(&token, &[Role::AUTHOR])
        .await
        .expect("allowed");
    assert_err!(app.authorize(&token, &[Role::USER]).await, RoleInsufficient);
}

#[tokio::test]
async fn admin_calls_check_token_role_user_and_argument_in_this_order() {
    let app = App::new(POLICY).await;
    app.register("ann").await.expect("registered");
    let ann = app.login("ann", "sesame").await.expect("logged in");
    let set_role = |token, id| app.users.set_user_role(token, id, Err(UnknownRole));
    assert_err!(set_role("", 99).await, TokenInvalid);
    assert_err!(set_role(&ann, 99).await, RoleInsufficient);
    assert_err!(set_role(&app.admin, 99).await, UserNotFound);
    assert_err!(set_role(&app.admin, 2).await, RoleInvalid);
    let set_password = |token, id| app.users.set_password(token, id, "".into(), origin(1));
    assert_err!(set_password(&ann, 99).await, RoleInsufficient);
    assert_err!(set_password(&app.admin, 1).await, OwnPassword);
    assert_err!(set_password(&app.admin, 99).await, UserNotFound);
    assert_err!(set_password(&app.admin, 2).await, PasswordInvalid);
}

#[tokio::test]
async fn deleted_user_is_unknown_to_its_tokens_and_admins_cannot_delete_themselves() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    app.set_role(ann.id, Role::ADMIN).await;
    let token = app.login("ann", "sesame").await.expect("logged in");
    let delete = |token, id| app.users.delete_user(token, id);
    assert_err!(delete(&token, ann.id).await, UserNotDeletable);
    assert_err!(delete(&token, 1).await, UserNotDeletable);
    assert_eq!(
        delete(&app.admin, ann.id).await.expect("deleted").id,
        ann.id
    );
    assert_err!(
        app.authorize(&token, &[Role::ADMIN]).await,
        TokenUserNotFound
    );
}

#[tokio::test]
async fn every_credential_of_a_disabled_user_is_refused_as_if_the_user_did_not_exist() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    app.verify("ann", "sesame").await.expect("cached");
    let set = |disabled| {
        app.users.update_user(
            &app.admin,
            ann.id,
            UserUpdateRequest {
                username: None,
                disabled: Some(disabled),
                end: None,
            },
        )
    };
    assert!(set(true).await.expect("disabled").disabled);
    assert_err!(
        app.authorize(&token, &[Role::USER]).await,
        TokenUserNotFound
    );
    assert_err!(app.login("ann", "sesame").await, CredentialsInvalid);
    assert_err!(app.verify("ann", "sesame").await, CredentialsInvalid);
    assert!(!set(false).await.expect("enabled").disabled);
    assert_err!(app.authorize(&token, &[Role::USER]).await, TokenInvalid);
    app.verify("ann", "sesame").await.expect("verified");
    app.login("ann", "sesame").await.expect("logged in");
}

#[tokio::test]
async fn batch_authorizes_each_bearer_by_itself() {
    let app = App::new(POLICY).await;
    let bearer = |token: &str, roles: &[Role]| {
        Ok(bearer(
            token,
            Requirement::AnyOf {
                roles: roles.to_vec(),
                groups: Vec::new(),
            },
        ))
    };
    let outcomes = app.authorizer.authorize_batch(vec![
        bearer("x", &[Role::ADMIN]),
        bearer(&app.admin, &[Role::ADMIN]),
        Err(AccountError::invalid_request("no requirement")),
        bearer(&app.admin, &[Role::USER]),
    ]);
    let mut outcomes = outcomes.await.expect("looked up").into_iter();
    assert_err!(outcomes.next().expect("four"), TokenInvalid);
    assert_eq!(
        outcomes
            .next()
            .expect("four")
            .expect("allowed")
            .user
            .username,
        ADMIN_USERNAME
    );
    assert_err!(outcomes.next().expect("four"), RequestInvalid);
    assert_err!(outcomes.next().expect("four"), RoleInsufficient);
}

#[tokio::test]
async fn store_outage_is_never_a_decision() {
    let app = App::new(POLICY).await;
    app.verify(ADMIN_USERNAME, "sesame").await.expect("cached");
    app.store.set_down(true);
    assert_err!(
        app.authorize(&app.admin, &[Role::ADMIN]).await,
        StoreUnavailable
    );
    assert_err!(app.verify(ADMIN_USERNAME, "sesame").await, StoreUnavailable);
    assert_err!(app.login(ADMIN_USERNAME, "sesame").await, StoreUnavailable);
}
