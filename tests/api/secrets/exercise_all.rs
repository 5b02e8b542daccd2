//! Uses every endpoint and every call with valid and invalid input. Recognizable words stand in
//! place of secrets.

use crate::{
    password_links::{new_link, redeem},
    sign_in_cookie::browser::{Browser, Proxies, new_session},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{
    ADMIN_PASSWORD, Api, SECOND_FACTOR_KEY, SIGNING_SECRET, TestApp, TestResponse, TestUser,
    grpc::{self, authenticated},
    second_factor::PATH,
};
use reqwest::{Method, header::CONTENT_TYPE};
use rolegate_proto::{auth_v1, posts_v1, posts_v1::post_service_client::PostServiceClient};
use serde_json::json;

const PASSWORD: &str = "planted-password-1f6d";
const WRONG_PASSWORD: &str = "planted-wrong-password-77b2";
const NEW_PASSWORD: &str = "planted-new-password-52aa";
const BROKEN_PASSWORD: &str = "planted-broken-password-0c3e";
const WRONG_CODE: &str = "planted-code-9d40";
/// The content of posts is not secret, but no request body may be logged.
const POST: &str = "planted-post-6e41";

/// Sends all requests. Returns the words that must not be logged.
pub(super) async fn exercise_all(app: &TestApp) -> Vec<String> {
    for api in [&app.bearer, &app.basic] {
        registrations(api).await;
    }
    let admin = app.admin().await;
    let ann = log_in(app).await;
    let bob = app.user("bob").await;
    let broken = [format!("{}x", ann.token), ann.token[1..].to_owned()];
    for token in [&ann.token, &admin.token].into_iter().chain(&broken) {
        with_a_token(&app.bearer.with_token(token), &ann, &bob).await;
        groups(&app.bearer.with_token(token), &bob).await;
    }
    for token in [&ann.token, &admin.token].into_iter().chain(&broken) {
        posts(app, token).await;
    }
    others_post(app, &admin, &ann).await;
    for password in [PASSWORD, WRONG_PASSWORD] {
        app.basic
            .with_basic("ann", password)
            .get("/protected")
            .await;
        app.basic
            .with_basic("stranger", password)
            .get("/protected")
            .await;
    }
    users_over_grpc(app, &admin, &ann, &bob).await;
    let keys = api_keys(app, &ann).await;
    let sessions = sessions_in_cookies(app, &ann).await;
    posts_over_grpc(app, &ann).await;
    let codes = links_and_second_factors(app, &admin).await;
    passwords_and_a_deletion(app, &admin, &ann, &bob).await;
    [
        PASSWORD,
        WRONG_PASSWORD,
        NEW_PASSWORD,
        BROKEN_PASSWORD,
        POST,
        ADMIN_PASSWORD,
        SIGNING_SECRET,
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([PASSWORD, WRONG_PASSWORD].map(|word| STANDARD.encode(format!("ann:{word}"))))
    .chain([admin.token, ann.token, bob.token, bob.password])
    .chain(keys)
    .chain(sessions)
    .chain(codes)
    .chain([WRONG_CODE, SECOND_FACTOR_KEY].map(str::to_owned))
    .collect()
}

async fn registrations(api: &Api) {
    api.post(
        "/register",
        &json!({ "username": "ann", "password": PASSWORD }),
    )
    .await;
    api.post(
        "/register",
        &json!({ "username": "a:b", "password": BROKEN_PASSWORD }),
    )
    .await;
    api.post(
        "/register",
        &json!({ "username": "b", "password": [BROKEN_PASSWORD] }),
    )
    .await;
    let nul = format!("{BROKEN_PASSWORD}\0");
    api.post("/register", &json!({ "username": "b", "password": nul }))
        .await;
    let long = BROKEN_PASSWORD.repeat(4);
    api.post("/register", &json!({ "username": "b", "password": long }))
        .await;
    malformed(api, Method::POST, "/register").await.expect(400);
    api.get("/").await.expect(200);
    api.get("/public").await.expect(200);
    api.get(&format!("/nowhere?password={BROKEN_PASSWORD}"))
        .await
        .expect(404);
}

async fn log_in(app: &TestApp) -> TestUser {
    malformed(&app.bearer, Method::POST, "/login")
        .await
        .expect(400);
    app.try_log_in("ann", WRONG_PASSWORD).await.expect(401);
    app.try_log_in("stranger", WRONG_PASSWORD).await.expect(401);
    TestUser::log_in(&app.bearer, "ann", PASSWORD).await
}

/// Sends requests with the token of a user or an admin, or without one. With the admin's token they
/// make ann an author.
async fn with_a_token(api: &Api, ann: &TestUser, bob: &TestUser) {
    for path in [
        "/profile",
        "/protected",
        "/author",
        "/admin",
        "/users",
        "/users?limit=0",
    ] {
        api.get(path).await;
    }
    let (ann, bob) = (format!("/users/{}", ann.id), format!("/users/{}", bob.id));
    api.get(&bob).await;
    api.put(&format!("{ann}/role"), &json!({ "role": BROKEN_PASSWORD }))
        .await;
    api.put(&format!("{ann}/role"), &json!({ "role": "author" }))
        .await;
    let long = BROKEN_PASSWORD.repeat(4);
    api.put(&format!("{bob}/password"), &json!({ "password": long }))
        .await;
    malformed(api, Method::PUT, &format!("{bob}/password")).await;
    delete(api, "/users/999").await;
    delete(api, &format!("/users/{BROKEN_PASSWORD}")).await;
    let wrong = json!({ "current_password": WRONG_PASSWORD, "new_password": NEW_PASSWORD });
    api.put("/profile/password", &wrong).await;
    malformed(api, Method::PUT, "/profile/password").await;
}

/// Sends good and bad cookies to both kinds of proxies. Returns the sessions without their first
/// characters, which denials name.
async fn sessions_in_cookies(app: &TestApp, ann: &TestUser) -> Vec<String> {
    let good = new_session(app, ann, false).await;
    let of_domain = new_session(app, ann, true).await;
    let unknown = format!("rgs_{}", "planted-session-8d1c".repeat(3).split_at(43).0);
    let proxies = Proxies::of(app).await;
    for session in [&good, &of_domain, &unknown] {
        for roles in ["*", "admin"] {
            for browser in [Browser::get(), Browser::navigation()] {
                proxies.ask_for(roles, &browser.cookie(session)).await;
                let bearer = format!("Bearer {session}");
                proxies
                    .ask_for(roles, &Browser::get().with("authorization", &bearer))
                    .await;
            }
            let post = Browser {
                method: "POST",
                ..Browser::get()
            };
            proxies.ask_for(roles, &post.cookie(session)).await;
        }
    }
    [good, of_domain, unknown]
        .map(|session| session[8..].to_owned())
        .into()
}

/// Creates API keys, and uses good and bad ones everywhere. Returns all of them.
async fn api_keys(app: &TestApp, ann: &TestUser) -> Vec<String> {
    let own = app.bearer.with_token(&ann.token);
    malformed(&own, Method::POST, "/profile/keys").await;
    let made = own.post("/profile/keys", &json!({ "name": POST })).await;
    let made = made.expect(201).json();
    let key = made["key"].as_str().expect("a key").to_owned();
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let name = POST.to_owned();
    let message = auth_v1::CreateApiKeyRequest {
        name,
        ..Default::default()
    };
    let other = client
        .create_api_key(authenticated(message, &ann.token))
        .await;
    let other = other.expect("created").into_inner().key;
    let unknown = format!("rgk_{}", "planted-key-2b9e".repeat(3).split_at(43).0);
    for key in [&key, &unknown, &format!("{key}x")] {
        let api = app.bearer.with_token(key);
        for path in [
            "/profile",
            "/admin",
            "/profile/keys",
            "/profile/keys/x",
            "/users/1/keys",
        ] {
            api.get(path).await;
        }
        posts(app, key).await;
        malformed(&api, Method::POST, "/profile/keys").await;
        api.send(api.request(Method::POST, "/logout")).await;
        let all = auth_v1::ListApiKeysRequest::default();
        let _ = client.list_api_keys(authenticated(all, key)).await;
    }
    delete(&own, &format!("/profile/keys/{}", made["id"]))
        .await
        .expect(200);
    app.bearer
        .with_token(&key)
        .get("/profile")
        .await
        .expect(401);
    vec![key, other, unknown]
}

/// Uses good and bad links and codes. Returns the links, and the secrets of the second factor that
/// the user keeps.
async fn links_and_second_factors(app: &TestApp, admin: &TestUser) -> Vec<String> {
    let eve = app.user("eve").await;
    let link = new_link(app, admin, eve.id).await;
    let unknown = format!("rgl_{}", "planted-link-5a3c".repeat(3).split_at(43).0);
    malformed(&app.bearer, Method::PUT, "/password")
        .await
        .expect(400);
    for (token, password, status) in [
        (&unknown, NEW_PASSWORD, 400),
        (&link, &*BROKEN_PASSWORD.repeat(4), 400),
        (&link, PASSWORD, 200),
        (&link, NEW_PASSWORD, 400),
    ] {
        redeem(&app.bearer, token, password).await.expect(status);
    }
    let eve = TestUser::log_in(&app.bearer, "eve", PASSWORD).await;
    let own = app.bearer.with_token(&eve.token);
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        malformed(&own, method, PATH).await.expect(400);
    }
    own.post(PATH, &json!({ "current_password": WRONG_PASSWORD }))
        .await
        .expect(400);
    let wrong = json!({ "otp": WRONG_CODE });
    own.put(PATH, &wrong).await.expect(400);
    let factor = eve.turn_on_second_factor(&app.bearer).await;
    eve.try_code(&app.bearer, WRONG_CODE).await.expect(401);
    app.basic
        .with_basic("eve", PASSWORD)
        .get("/protected")
        .await
        .expect(401);
    let eve = eve
        .log_in_with_code(&app.bearer, &factor.recovery_codes[0])
        .await;
    let own = app.bearer.with_token(&eve.token);
    own.send(own.request(Method::DELETE, PATH).json(&wrong))
        .await
        .expect(400);
    let path = format!("/users/{}/second-factor", eve.id);
    delete(&app.bearer.with_token(&admin.token), &path)
        .await
        .expect(200);
    [link, unknown, factor.secret, eve.token]
        .into_iter()
        .chain(factor.recovery_codes)
        .collect()
}

/// Creates, reads and deletes posts.
async fn posts(app: &TestApp, token: &str) {
    let api = app.bearer.with_token(token);
    let post = json!({ "title": POST, "content": POST });
    let id = api.post("/posts", &post).await;
    let id = if id.status == 201 {
        id.json()["id"].to_string()
    } else {
        "999".to_owned()
    };
    let path = format!("/posts/{id}");
    api.put(&path, &post).await;
    for wrong in [
        json!({ "title": format!("{POST}\n"), "content": POST }),
        json!({ "title": POST, "content": POST.repeat(3_000) }),
        json!({ "title": [POST], "content": POST }),
    ] {
        api.post("/posts", &wrong).await;
        api.put(&path, &wrong).await;
    }
    malformed(&api, Method::POST, "/posts").await;
    malformed(&api, Method::PUT, &path).await;
    for path in [
        "/posts",
        "/posts?author_id=x",
        "/posts?limit=1",
        path.as_str(),
    ] {
        api.get(path).await;
    }
    delete(&api, &path).await;
    delete(&api, &path).await;
}

/// Tries what an author may not do with another author's post.
async fn others_post(app: &TestApp, admin: &TestUser, ann: &TestUser) {
    let post = json!({ "title": POST, "content": POST });
    let made = app
        .bearer
        .with_token(&admin.token)
        .post("/posts", &post)
        .await;
    let path = format!("/posts/{}", made.expect(201).json()["id"]);
    let api = app.bearer.with_token(&ann.token);
    api.put(&path, &post).await.expect(403);
    delete(&api, &path).await.expect(403);
    let own = api.post("/posts", &post).await;
    own.expect(201);
}

async fn passwords_and_a_deletion(app: &TestApp, admin: &TestUser, ann: &TestUser, bob: &TestUser) {
    let change = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    app.bearer
        .with_token(&ann.token)
        .put("/profile/password", &change)
        .await
        .expect(200);
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(401);
    let as_admin = app.bearer.with_token(&admin.token);
    let set = json!({ "password": NEW_PASSWORD });
    as_admin
        .put(&format!("/users/{}/password", bob.id), &set)
        .await
        .expect(200);
    let new = json!({ "username": "created", "password": NEW_PASSWORD });
    as_admin.post("/users", &new).await.expect(201);
    let wrong = json!({ "username": "a:b", "password": NEW_PASSWORD, "role": POST });
    as_admin.post("/users", &wrong).await.expect(400);
    malformed(&as_admin, Method::POST, "/users").await;
    malformed(&as_admin, Method::PATCH, &format!("/users/{}", bob.id)).await;
    delete(&as_admin, &format!("/users/{}", bob.id))
        .await
        .expect(200);
    app.bearer
        .with_token(&bob.token)
        .get("/profile")
        .await
        .expect(401);
}

async fn delete(api: &Api, path: &str) -> TestResponse {
    api.send(api.request(Method::DELETE, path)).await
}

/// Sends a truncated body.
/// Manages groups, and sends secrets in the places of names and ends.
async fn groups(api: &Api, bob: &TestUser) {
    let created = api.post("/groups", &json!({ "name": "staff" })).await;
    let id = created.json()["id"].as_i64().unwrap_or(1);
    let malformed_name = format!("{BROKEN_PASSWORD}!");
    api.post("/groups", &json!({ "name": malformed_name }))
        .await;
    malformed(api, Method::POST, "/groups").await;
    let membership = format!("/groups/{id}/members/{}", bob.id);
    for end in [json!({}), json!({ "until": BROKEN_PASSWORD })] {
        api.put(&membership, &end).await;
    }
    malformed(api, Method::PUT, &membership).await;
    let user = format!("/users/{}", bob.id);
    let end = json!({ "until": BROKEN_PASSWORD });
    api.send(api.request(Method::PATCH, &user).json(&end)).await;
    for path in [&format!("{user}/groups"), "/profile/groups", "/groups"] {
        api.get(path).await;
    }
    api.get(&format!("/groups?after={BROKEN_PASSWORD}")).await;
    delete(api, &membership).await;
    delete(api, &format!("/groups/{id}")).await;
}

async fn malformed(api: &Api, method: Method, path: &str) -> TestResponse {
    let body =
        format!("{{\"username\":\"ann\",\"title\":\"{POST}\",\"password\":\"{BROKEN_PASSWORD}\"");
    let request = api
        .request(method, path)
        .header(CONTENT_TYPE, "application/json");
    api.send(request.body(body)).await
}

async fn users_over_grpc(app: &TestApp, admin: &TestUser, ann: &TestUser, bob: &TestUser) {
    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let username = "ann".to_owned();
    let password = WRONG_PASSWORD.to_owned();
    let request = auth_v1::LoginRequest {
        username,
        password,
        otp: None,
    };
    client.login(request).await.expect_err("a wrong password");
    let page = auth_v1::ListUsersRequest::default();
    client
        .list_users(authenticated(page, &ann.token))
        .await
        .expect_err("not an admin");
    let user_id = bob.id;
    let broken = BROKEN_PASSWORD.repeat(4);
    for token in [&*ann.token, &admin.token, "nonsense"] {
        let _ = client
            .get_user(authenticated(auth_v1::GetUserRequest { user_id }, token))
            .await;
        let message = auth_v1::SetPasswordRequest {
            user_id,
            password: broken.clone(),
        };
        client
            .set_password(authenticated(message, token))
            .await
            .expect_err("it is too long");
        let message = auth_v1::ChangePasswordRequest {
            current_password: WRONG_PASSWORD.to_owned(),
            new_password: NEW_PASSWORD.to_owned(),
        };
        client
            .change_password(authenticated(message, token))
            .await
            .expect_err("a wrong password");
        let message = auth_v1::DeleteUserRequest { user_id: admin.id };
        client
            .delete_user(authenticated(message, token))
            .await
            .expect_err("admin cannot be deleted");
        let names = auth_v1::BatchGetUsersRequest { ids: vec![user_id] };
        let _ = client.batch_get_users(authenticated(names, token)).await;
    }
}

async fn posts_over_grpc(app: &TestApp, ann: &TestUser) {
    let mut client = PostServiceClient::new(grpc::channel(&app.posts_address()).await);
    let draft = |title: &str| posts_v1::CreatePostRequest {
        title: title.to_owned(),
        content: POST.into(),
    };
    client
        .create_post(authenticated(draft(POST), "nonsense"))
        .await
        .expect_err("a bad token");
    let two_lines = format!("{POST}\n");
    client
        .create_post(authenticated(draft(&two_lines), &ann.token))
        .await
        .expect_err("two lines");
    let made = client
        .create_post(authenticated(draft(POST), &ann.token))
        .await
        .expect("created");
    let post_id = made.into_inner().post.expect("a post").id;
    client
        .get_post(posts_v1::GetPostRequest { post_id })
        .await
        .expect("there");
    let post_ids = vec![post_id, 999];
    client
        .batch_get_posts(posts_v1::BatchGetPostsRequest { post_ids })
        .await
        .expect("there");
    let request = authenticated(posts_v1::DeletePostRequest { post_id }, &ann.token);
    client.delete_post(request).await.expect("deleted");
}
