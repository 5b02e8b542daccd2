//! Who may do what: every endpoint, asked by everybody. One table.

use e2e::{Answer, Api, TestApp, TestSetup, for_all_deployments, token};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

for_all_deployments!(everybody_gets_what_the_table_says_and_nothing_else);

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

pub(crate) async fn everybody_gets_what_the_table_says_and_nothing_else(plan: TestSetup) {
    let world = plan.start().await;
    let target = world.user("target").await;
    let another = world.user_with_role("another author", "author").await;
    let another = world.bearer.with_token(&another.token);
    let callers = callers(&world).await;
    for Endpoint(variant, method, path, access, body) in &ENDPOINTS {
        for (caller, password, bearer, basic) in &callers {
            let api = if *variant == Variant::Bearer { bearer } else { basic };
            let mut path = path.replace("{id}", &target.id.to_string());
            if path.contains("{new}") {
                let new = world.user(&format!("for {caller:?}")).await;
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
            let mut answer = api.send(request).await;
            answer.asked = format!("{} by {caller:?}", answer.asked);
            let success =
                if (method, path.as_str()) == (&Method::POST, "/posts") { 201 } else { 200 };
            expect(&answer, *variant, *access, *caller, success);
        }
    }
}

/// Writes a post and returns its id.
async fn new_post(author: &Api) -> String {
    let draft = json!({ "title": "a title", "content": "a content" });
    author.post("/posts", &draft).await.expect(201).json()["id"].to_string()
}

fn expect(answer: &Answer, variant: Variant, access: Access, caller: Caller, success: u16) {
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
            answer.expect_detail(401, refused);
            answer.expect_header("www-authenticate", Some(challenge));
        }
        (Only(allowed), caller) if !allowed.contains(&caller) => {
            answer.expect_detail(403, "Insufficient privileges.");
            answer.expect_header("www-authenticate", None);
        }
        _ => {
            answer.expect(success);
            answer.expect_header("www-authenticate", None);
        }
    }
}

/// Each caller with their password, on the bearer address and on the Basic address.
async fn callers(world: &TestApp) -> Vec<(Caller, String, Api, Api)> {
    let forged = token::claims_of(world.admin().await.id);
    let forged = token::signed(&token::plain_header(), &forged, "not the secret of this service");
    let mut callers = vec![
        (Nobody, String::new(), world.bearer.clone(), world.basic.clone()),
        (
            BadCredentials,
            String::new(),
            world.bearer.with_token(&forged),
            world.basic.with_basic("admin", "not the password of the admin"),
        ),
    ];
    for (caller, person) in [
        (User, world.user("some user").await),
        (Author, world.user_with_role("some author", "author").await),
        (Admin, world.admin().await),
    ] {
        let basic = world.basic.with_basic(&person.username, &person.password);
        callers.push((caller, person.password, world.bearer.with_token(&person.token), basic));
    }
    callers
}
