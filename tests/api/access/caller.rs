//! The kinds of callers.

use crate::api_keys::create_key;
use e2e::{Api, TestApp, token};

/// The kinds of callers; the last four have a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NoCredentials,
    BadCredentials,
    User,
    Author,
    Admin,
    /// A program with the API key of an admin.
    AdminKey,
}

impl Kind {
    pub(super) fn role(self) -> &'static str {
        match self {
            Self::NoCredentials | Self::BadCredentials => "none",
            Self::User => "user",
            Self::Author => "author",
            Self::Admin | Self::AdminKey => "admin",
        }
    }
}

pub(super) struct Caller {
    pub(super) kind: Kind,
    /// With this caller's credentials.
    pub(super) bearer: Api,
    pub(super) basic: Api,
    pub(super) password: String,
    /// With an access token of the user, if there is one: what an API key cannot create.
    pub(super) person: Option<Api>,
}

/// One caller of each kind. `names` is part of the users' names.
pub(super) async fn create_all(app: &TestApp, names: &str) -> Vec<Caller> {
    let claims = token::claims_of(app.admin().await.id);
    let forged = token::signed(&token::plain_header(), &claims, "not the secret of this service");
    let caller = |kind, bearer: Api, basic, password: String| {
        let person = (!password.is_empty()).then(|| bearer.clone());
        Caller { kind, bearer, basic, password, person }
    };
    let bad_basic = app.basic.with_basic("admin", "not the password of the admin");
    let mut callers = vec![
        caller(Kind::NoCredentials, app.bearer.clone(), app.basic.clone(), String::new()),
        caller(Kind::BadCredentials, app.bearer.with_token(&forged), bad_basic, String::new()),
    ];
    for (kind, user) in [
        (Kind::User, app.user(&format!("{names} user")).await),
        (Kind::Author, app.user_with_role(&format!("{names} author"), "author").await),
        (Kind::Admin, app.admin().await),
        (Kind::AdminKey, app.user_with_role(&format!("{names} program"), "admin").await),
    ] {
        let basic = app.basic.with_basic(&user.username, &user.password);
        callers.push(caller(kind, app.bearer.with_token(&user.token), basic, user.password));
    }
    for caller in callers.iter_mut().filter(|caller| caller.kind == Kind::AdminKey) {
        let (key, _) = create_key(&caller.bearer, &serde_json::json!({ "name": names })).await;
        caller.bearer = app.bearer.with_token(&key);
    }
    callers
}
