//! The kinds of callers.

use e2e::{Api, TestApp, token};

/// The kinds of callers; the last three are the roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NoCredentials,
    BadCredentials,
    User,
    Author,
    Admin,
}

impl Kind {
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::NoCredentials | Self::BadCredentials => "none",
            Self::User => "user",
            Self::Author => "author",
            Self::Admin => "admin",
        }
    }
}

pub(super) struct Caller {
    pub(super) kind: Kind,
    /// With this caller's credentials.
    pub(super) bearer: Api,
    pub(super) basic: Api,
    pub(super) password: String,
}

/// One caller of each kind.
pub(super) async fn create_all(app: &TestApp) -> Vec<Caller> {
    let claims = token::claims_of(app.admin().await.id);
    let forged = token::signed(&token::plain_header(), &claims, "not the secret of this service");
    let caller = |kind, bearer, basic, password| Caller { kind, bearer, basic, password };
    let bad_basic = app.basic.with_basic("admin", "not the password of the admin");
    let mut callers = vec![
        caller(Kind::NoCredentials, app.bearer.clone(), app.basic.clone(), String::new()),
        caller(Kind::BadCredentials, app.bearer.with_token(&forged), bad_basic, String::new()),
    ];
    for (kind, user) in [
        (Kind::User, app.user("some user").await),
        (Kind::Author, app.user_with_role("some author", "author").await),
        (Kind::Admin, app.admin().await),
    ] {
        let basic = app.basic.with_basic(&user.username, &user.password);
        callers.push(caller(kind, app.bearer.with_token(&user.token), basic, user.password));
    }
    callers
}
