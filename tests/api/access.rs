//! Who may do what: every endpoint, asked by everybody. One table.

use e2e::{Api, TestApp, TestResponse, TestSetup, for_all_deployments, token};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

for_all_deployments!(each_documented_operation_admits_exactly_its_documented_callers);

/// Which of the two addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Bearer,
    Basic,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Caller {
    Nobody,
    BadCredentials,
    User,
    Author,
    Admin,
}

/// Who may.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Access {
    Public,
    Authenticated,
    Only(&'static [Caller]),
}

use Access::{Authenticated, Only, Public};
use Caller::{Admin, Author, BadCredentials, Nobody, User};

struct Endpoint(Variant, Method, &'static str, Access, Body);

/// What is sent.
#[derive(Clone, Copy)]
enum Body {
    None,
    NewUser,
    KnownUser,
    Role,
    Password,
    /// Of the caller, who has other tokens afterwards: the last thing that anybody asks.
    OwnPassword,
    Post,
}

/// Every endpoint of both variants. `{id}` is somebody else; `{new}` somebody else each time;
/// `{own_post}` and `{others_post}` are new each time, of the caller if it can be, and of somebody else.
const ENDPOINTS: [Endpoint; 24] = [
    Endpoint(Variant::Bearer, Method::GET, "/", Public, Body::None),
    Endpoint(Variant::Bearer, Method::POST, "/register", Public, Body::NewUser),
    Endpoint(Variant::Bearer, Method::POST, "/login", Public, Body::KnownUser),
    Endpoint(Variant::Bearer, Method::GET, "/public", Public, Body::None),
    Endpoint(Variant::Bearer, Method::GET, "/profile", Authenticated, Body::None),
    Endpoint(Variant::Bearer, Method::GET, "/author", Only(&[Author, Admin]), Body::None),
    Endpoint(Variant::Bearer, Method::GET, "/admin", Only(&[Admin]), Body::None),
    Endpoint(Variant::Bearer, Method::GET, "/users", Only(&[Admin]), Body::None),
    Endpoint(Variant::Bearer, Method::GET, "/protected", Authenticated, Body::None),
    Endpoint(Variant::Bearer, Method::GET, "/users/{id}", Only(&[Admin]), Body::None),
    Endpoint(Variant::Bearer, Method::DELETE, "/users/{new}", Only(&[Admin]), Body::None),
    Endpoint(Variant::Bearer, Method::PUT, "/users/{id}/role", Only(&[Admin]), Body::Role),
    Endpoint(Variant::Bearer, Method::GET, "/posts", Public, Body::None),
    Endpoint(Variant::Bearer, Method::GET, "/posts/{others_post}", Public, Body::None),
    Endpoint(Variant::Bearer, Method::POST, "/posts", Only(&[Author, Admin]), Body::Post),
    Endpoint(Variant::Bearer, Method::PUT, "/posts/{own_post}", Only(&[Author, Admin]), Body::Post),
    Endpoint(Variant::Bearer, Method::PUT, "/posts/{others_post}", Only(&[Admin]), Body::Post),
    Endpoint(
        Variant::Bearer,
        Method::DELETE,
        "/posts/{own_post}",
        Only(&[Author, Admin]),
        Body::None,
    ),
    Endpoint(Variant::Bearer, Method::DELETE, "/posts/{others_post}", Only(&[Admin]), Body::None),
    Endpoint(Variant::Bearer, Method::PUT, "/users/{id}/password", Only(&[Admin]), Body::Password),
    Endpoint(Variant::Bearer, Method::PUT, "/profile/password", Authenticated, Body::OwnPassword),
    Endpoint(Variant::Basic, Method::GET, "/", Public, Body::None),
    Endpoint(Variant::Basic, Method::POST, "/register", Public, Body::NewUser),
    Endpoint(Variant::Basic, Method::GET, "/protected", Authenticated, Body::None),
];

impl Body {
    fn json(self, own_password: &str) -> Option<Value> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        match self {
            Self::None => None,
            Self::NewUser => {
                let name = format!("new user {}", COUNT.fetch_add(1, Ordering::Relaxed));
                Some(json!({ "username": name, "password": "a password" }))
            }
            Self::KnownUser => {
                Some(json!({ "username": "admin", "password": e2e::ADMIN_PASSWORD }))
            }
            Self::Role => Some(json!({ "role": "user" })),
            Self::Post => Some(json!({ "title": "a title", "content": "a content" })),
            Self::Password => Some(json!({ "password": "another password" })),
            Self::OwnPassword => {
                Some(json!({ "current_password": own_password, "new_password": own_password }))
            }
        }
    }
}

pub(crate) async fn each_documented_operation_admits_exactly_its_documented_callers(
    setup: TestSetup,
) {
    let app = setup.start().await;
    let target = app.user("target").await;
    let another = app.user_with_role("another author", "author").await;
    let another = app.bearer.with_token(&another.token);
    let callers = callers(&app).await;
    for Endpoint(variant, method, path, access, body) in &ENDPOINTS {
        for (caller, password, bearer, basic) in &callers {
            let api = if *variant == Variant::Bearer { bearer } else { basic };
            let mut path = path.replace("{id}", &target.id.to_string());
            if path.contains("{new}") {
                let new = app.user(&format!("for {caller:?}")).await;
                path = path.replace("{new}", &new.id.to_string());
            }
            if path.contains("post}") {
                let is_own = path.contains("{own_post}") && [Author, Admin].contains(caller);
                let id = new_post(if is_own { bearer } else { &another }).await;
                path = path.replace("{own_post}", &id).replace("{others_post}", &id);
            }
            let mut request = api.request(method.clone(), &path);
            if let Some(body) = body.json(password) {
                request = request.json(&body);
            }
            let mut response = api.send(request).await;
            response.request = format!("{} by {caller:?}", response.request);
            let success =
                if (method, path.as_str()) == (&Method::POST, "/posts") { 201 } else { 200 };
            expect(&response, *variant, *access, *caller, success);
        }
    }
}

/// Writes a post and returns its id.
async fn new_post(author: &Api) -> String {
    let draft = json!({ "title": "a title", "content": "a content" });
    author.post("/posts", &draft).await.expect(201).json()["id"].to_string()
}

fn expect(response: &TestResponse, variant: Variant, access: Access, caller: Caller, success: u16) {
    let challenge = match (variant, caller) {
        (Variant::Basic, _) => "Basic",
        (Variant::Bearer, BadCredentials) => "Bearer error=\"invalid_token\"",
        (Variant::Bearer, _) => "Bearer",
    };
    let refused = match (variant, caller) {
        (_, Nobody) => "Not authenticated.",
        (Variant::Bearer, _) => "Invalid or expired token.",
        (Variant::Basic, _) => "Invalid username or password.",
    };
    match (access, caller) {
        (Authenticated | Only(_), Nobody | BadCredentials) => {
            response.expect_detail(401, refused);
            response.expect_header("www-authenticate", Some(challenge));
        }
        (Only(allowed), caller) if !allowed.contains(&caller) => {
            response.expect_detail(403, "Insufficient privileges.");
            response.expect_header("www-authenticate", None);
        }
        _ => {
            response.expect(success);
            response.expect_header("www-authenticate", None);
        }
    }
}

/// Each caller with their password, on the bearer address and on the Basic address.
async fn callers(app: &TestApp) -> Vec<(Caller, String, Api, Api)> {
    let forged = token::claims_of(app.admin().await.id);
    let forged = token::signed(&token::plain_header(), &forged, "not the secret of this service");
    let mut callers = vec![
        (Nobody, String::new(), app.bearer.clone(), app.basic.clone()),
        (
            BadCredentials,
            String::new(),
            app.bearer.with_token(&forged),
            app.basic.with_basic("admin", "not the password of the admin"),
        ),
    ];
    for (caller, user) in [
        (User, app.user("some user").await),
        (Author, app.user_with_role("some author", "author").await),
        (Admin, app.admin().await),
    ] {
        let basic = app.basic.with_basic(&user.username, &user.password);
        callers.push((caller, user.password, app.bearer.with_token(&user.token), basic));
    }
    callers
}
