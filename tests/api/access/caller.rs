//! The kinds of callers, and how each of them authenticates.

use crate::{api_keys::create_key, sessions::create_session, sign_in_cookie::browser::new_session};
use e2e::{Api, TestApp, token};

/// A kind of caller. The last five have a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NoCredentials,
    BadCredentials,
    User,
    Author,
    Admin,
    /// An admin who sends a session instead of an access token.
    AdminSession,
    /// A program that sends the API key of an admin.
    AdminKey,
}

impl Kind {
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::NoCredentials | Self::BadCredentials => "none",
            Self::User => "user",
            Self::Author => "author",
            Self::Admin | Self::AdminSession | Self::AdminKey => "admin",
        }
    }
}

pub(super) struct Caller {
    pub(super) kind: Kind,
    /// A client of the bearer address with this caller's credentials.
    pub(super) bearer: Api,
    pub(super) basic: Api,
    pub(super) username: String,
    pub(super) password: String,
    /// A client with the user's access token, for what an API key cannot create. `None` if the
    /// caller is no user.
    pub(super) person: Option<Api>,
}

/// Creates the callers: one or two of each kind. `names` becomes part of the usernames.
pub(super) async fn create_all(app: &TestApp, names: &str) -> Vec<Caller> {
    let claims = token::claims_of(app.admin().await.id);
    let forged = token::signed(
        &token::plain_header(),
        &claims,
        "not the secret of this service",
    );
    let nobody = |kind, bearer, basic| {
        let (username, password) = (String::new(), String::new());
        Caller {
            kind,
            bearer,
            basic,
            username,
            password,
            person: None,
        }
    };
    // A session for a domain is valid, but only in a cookie. With mutual TLS only the services can
    // ask for one, so an invented session takes its place.
    let of_domain = if app.auth().address("grpc").starts_with("https") {
        format!("rgd_{}", "A".repeat(43))
    } else {
        new_session(app, &app.admin().await, true).await
    };
    let bad_basic = app
        .basic
        .with_basic("admin", "not the password of the admin");
    let mut callers = vec![
        nobody(Kind::NoCredentials, app.bearer.clone(), app.basic.clone()),
        nobody(
            Kind::BadCredentials,
            app.bearer.with_token(&forged),
            bad_basic.clone(),
        ),
        nobody(
            Kind::BadCredentials,
            app.bearer.with_token(&of_domain),
            bad_basic,
        ),
    ];
    for (kind, user) in [
        (Kind::User, app.user(&format!("{names} user")).await),
        (
            Kind::Author,
            app.user_with_role(&format!("{names} author"), "author")
                .await,
        ),
        (Kind::Admin, app.admin().await),
        (
            Kind::AdminSession,
            app.user_with_role(&format!("{names} page"), "admin").await,
        ),
        (
            Kind::AdminKey,
            app.user_with_role(&format!("{names} program"), "admin")
                .await,
        ),
    ] {
        let basic = app.basic.with_basic(&user.username, &user.password);
        let person = app.bearer.with_token(&user.token);
        let credential = match kind {
            Kind::AdminKey => {
                create_key(&person, &serde_json::json!({ "name": names }))
                    .await
                    .0
            }
            Kind::AdminSession => {
                create_session(&app.bearer, &user.username, &user.password)
                    .await
                    .0
            }
            _ => user.token,
        };
        let (username, password) = (user.username, user.password);
        let bearer = app.bearer.with_token(&credential);
        callers.push(Caller {
            kind,
            bearer,
            basic,
            username,
            password,
            person: Some(person),
        });
    }
    callers
}
