//! Valid ids and bodies for every operation.

use super::caller::Caller;
use crate::{api_keys::create_key, password_links::new_link, sessions::create_session};
use e2e::{ADMIN_PASSWORD, Api, TestApp};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

/// The object that the parameter in a path identifies.
#[derive(Clone, Copy)]
pub(super) enum Id {
    None,
    User,
    /// A new user for each call.
    NewUser,
    /// A new user for each call, with a second factor.
    Enrolled,
    /// A new API key of the caller, or of another user if the caller has no account.
    OwnKey,
    /// Another user and a new API key of that user.
    OthersKey,
    /// A new session of the caller, or of another user if the caller has no account.
    OwnSession,
    /// Another user and a new session of that user.
    OthersSession,
    /// A new group without members.
    Group,
    /// A new group and another user who is in it.
    Member,
    /// A new post of the caller, or of another author if the caller cannot write any.
    OwnPost,
    /// A new post of another author.
    OthersPost,
}

#[derive(Clone, Copy)]
pub(super) enum Body {
    None,
    NewUser,
    Username,
    Admin,
    Disabled,
    Role,
    Password,
    OwnPassword,
    CurrentPassword,
    Otp,
    Link,
    Key,
    KeyWithRole,
    Group,
    End,
    Post,
}

/// The operations with valid ids and bodies. An operation with several samples is called with each
/// of them.
pub(super) const SAMPLES: &[(&str, Id, Body)] = &[
    ("GET /", Id::None, Body::None),
    ("GET /public", Id::None, Body::None),
    ("POST /register", Id::None, Body::NewUser),
    ("POST /login", Id::None, Body::Admin),
    ("POST /sessions", Id::None, Body::Admin),
    ("GET /me", Id::None, Body::None),
    ("GET /profile", Id::None, Body::None),
    ("PUT /profile/password", Id::None, Body::OwnPassword),
    ("PUT /password", Id::None, Body::Link),
    ("POST /password-link", Id::None, Body::Link),
    ("GET /password-policy", Id::None, Body::None),
    (
        "POST /profile/second-factor",
        Id::None,
        Body::CurrentPassword,
    ),
    ("PUT /profile/second-factor", Id::None, Body::Otp),
    ("DELETE /profile/second-factor", Id::None, Body::Otp),
    ("GET /profile/second-factor", Id::None, Body::None),
    ("POST /logout", Id::None, Body::None),
    ("POST /profile/keys", Id::None, Body::Key),
    ("GET /profile/keys", Id::None, Body::None),
    ("DELETE /profile/keys", Id::None, Body::None),
    ("GET /profile/keys/{key_id}", Id::OwnKey, Body::None),
    ("DELETE /profile/keys/{key_id}", Id::OwnKey, Body::None),
    ("GET /profile/sessions", Id::None, Body::None),
    ("DELETE /profile/sessions", Id::None, Body::None),
    (
        "DELETE /profile/sessions/{session_id}",
        Id::OwnSession,
        Body::None,
    ),
    ("GET /protected", Id::None, Body::None),
    ("GET /author", Id::None, Body::None),
    ("GET /admin", Id::None, Body::None),
    ("GET /users", Id::None, Body::None),
    ("POST /users", Id::None, Body::NewUser),
    ("POST /users", Id::None, Body::Username),
    ("GET /users/{user_id}", Id::User, Body::None),
    ("PATCH /users/{user_id}", Id::NewUser, Body::Disabled),
    ("DELETE /users/{user_id}", Id::NewUser, Body::None),
    ("PUT /users/{user_id}/role", Id::User, Body::Role),
    ("PUT /users/{user_id}/password", Id::User, Body::Password),
    ("POST /users/{user_id}/password-link", Id::User, Body::None),
    (
        "DELETE /users/{user_id}/second-factor",
        Id::Enrolled,
        Body::None,
    ),
    ("DELETE /users/{user_id}/tokens", Id::User, Body::None),
    ("GET /roles", Id::None, Body::None),
    ("GET /audit", Id::None, Body::None),
    ("GET /profile/audit", Id::None, Body::None),
    ("POST /users/{user_id}/keys", Id::User, Body::KeyWithRole),
    ("GET /users/{user_id}/sessions", Id::User, Body::None),
    ("DELETE /users/{user_id}/sessions", Id::User, Body::None),
    (
        "DELETE /users/{user_id}/sessions/{session_id}",
        Id::OthersSession,
        Body::None,
    ),
    ("GET /users/{user_id}/keys", Id::User, Body::None),
    ("DELETE /users/{user_id}/keys", Id::User, Body::None),
    (
        "GET /users/{user_id}/keys/{key_id}",
        Id::OthersKey,
        Body::None,
    ),
    (
        "DELETE /users/{user_id}/keys/{key_id}",
        Id::OthersKey,
        Body::None,
    ),
    ("POST /groups", Id::None, Body::Group),
    ("GET /groups", Id::None, Body::None),
    ("GET /groups/{group_id}", Id::Group, Body::None),
    ("DELETE /groups/{group_id}", Id::Group, Body::None),
    ("GET /groups/{group_id}/members", Id::Group, Body::None),
    (
        "PUT /groups/{group_id}/members/{user_id}",
        Id::Member,
        Body::End,
    ),
    (
        "DELETE /groups/{group_id}/members/{user_id}",
        Id::Member,
        Body::None,
    ),
    ("GET /profile/groups", Id::None, Body::None),
    ("GET /users/{user_id}/groups", Id::User, Body::None),
    ("GET /posts", Id::None, Body::None),
    ("POST /posts", Id::None, Body::Post),
    ("GET /posts/{id}", Id::OthersPost, Body::None),
    ("PUT /posts/{id}", Id::OwnPost, Body::Post),
    ("PUT /posts/{id}", Id::OthersPost, Body::Post),
    ("DELETE /posts/{id}", Id::OwnPost, Body::None),
    ("DELETE /posts/{id}", Id::OthersPost, Body::None),
];

/// Users and authors that the calls are about. None of them is a caller.
pub(super) struct Others {
    user_id: i64,
    author_id: i64,
    author: Api,
    author_login: (String, String),
}

impl Others {
    pub(super) async fn create(app: &TestApp) -> Self {
        let author = app.user_with_role("other author", "author").await;
        let user_id = app.user("target").await.id;
        let author_login = (author.username, author.password);
        let (author_id, author) = (author.id, app.bearer.with_token(&author.token));
        Self {
            user_id,
            author_id,
            author,
            author_login,
        }
    }
}

impl Id {
    /// Creates the object and returns its ids for the path, separated by spaces.
    pub(super) async fn create(self, app: &TestApp, caller: &Caller, others: &Others) -> String {
        let author = match (self, caller.kind) {
            (Self::None, _) => return String::new(),
            (Self::User, _) => return others.user_id.to_string(),
            (Self::NewUser, _) => return app.user(&unique_name()).await.id.to_string(),
            (Self::Enrolled, _) => {
                let user = app.user(&unique_name()).await;
                user.turn_on_second_factor(&app.bearer).await;
                return user.id.to_string();
            }
            (Self::OwnKey, _) => {
                let owner = caller.person.as_ref().unwrap_or(&others.author);
                return create_key(owner, &key()).await.1["id"].to_string();
            }
            (Self::OthersKey, _) => {
                let key_id = &create_key(&others.author, &key()).await.1["id"];
                return format!("{} {key_id}", others.author_id);
            }
            (Self::OwnSession, _) if caller.person.is_some() => {
                let (bearer, password) = (&app.bearer, &caller.password);
                let made = create_session(bearer, &caller.username, password).await.1;
                return made["id"].to_string();
            }
            (Self::OwnSession | Self::OthersSession, _) => {
                let (username, password) = &others.author_login;
                let id = &create_session(&app.bearer, username, password).await.1["id"];
                let is_own = matches!(self, Self::OwnSession);
                return if is_own {
                    id.to_string()
                } else {
                    format!("{} {id}", others.author_id)
                };
            }
            (Self::Group, _) => return new_group(app).await.to_string(),
            (Self::Member, _) => {
                let group_id = new_group(app).await;
                let admin = app.bearer.with_token(&app.admin().await.token);
                let path = format!("/groups/{group_id}/members/{}", others.user_id);
                admin.put(&path, &json!({})).await.expect(200);
                return format!("{group_id} {}", others.user_id);
            }
            (Self::OwnPost, kind) if !["none", "user"].contains(&kind.role()) => &caller.bearer,
            (Self::OwnPost | Self::OthersPost, _) => &others.author,
        };
        author.post("/posts", &post()).await.expect(201).json()["id"].to_string()
    }
}

impl Body {
    pub(super) async fn json(
        self,
        app: &TestApp,
        caller: &Caller,
        others: &Others,
    ) -> Option<Value> {
        match self {
            Self::None => None,
            Self::NewUser => Some(json!({ "username": unique_name(), "password": "a password" })),
            Self::Username => Some(json!({ "username": unique_name() })),
            Self::Admin => Some(json!({ "username": "admin", "password": ADMIN_PASSWORD })),
            Self::Disabled => Some(json!({ "disabled": true })),
            Self::Role => Some(json!({ "role": "user" })),
            Self::Password => Some(json!({ "password": "another password" })),
            Self::OwnPassword => {
                let own = &caller.password;
                Some(json!({ "current_password": own, "new_password": own }))
            }
            Self::CurrentPassword => Some(json!({ "current_password": caller.password })),
            Self::Otp => Some(json!({ "otp": "not a code" })),
            Self::Link => {
                let token = new_link(app, &app.admin().await, others.user_id).await;
                Some(json!({ "token": token, "password": "another password" }))
            }
            Self::Key => Some(key()),
            Self::KeyWithRole => Some(json!({ "name": "a program", "role": "author" })),
            Self::Group => Some(group()),
            Self::End => Some(json!({ "until": "9000-01-01T00:00:00Z" })),
            Self::Post => Some(post()),
        }
    }
}

fn key() -> Value {
    json!({ "name": "a program" })
}

fn post() -> Value {
    json!({ "title": "a title", "content": "some content" })
}

fn group() -> Value {
    json!({ "name": unique_name().replace(' ', "-") })
}

/// Creates a group, and returns its id.
async fn new_group(app: &TestApp) -> Value {
    let admin = app.bearer.with_token(&app.admin().await.token);
    admin.post("/groups", &group()).await.expect(201).json()["id"].clone()
}

fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("new user {}", COUNT.fetch_add(1, Ordering::Relaxed))
}
