//! A registered user, and the user's sessions and API keys.

use crate::{Api, TestResponse, token};
use serde_json::json;

/// A registered user who has logged in.
#[derive(Clone, Debug)]
pub struct TestUser {
    /// The id that the service assigned.
    pub id: i64,
    /// The username.
    pub username: String,
    /// The password, in plain text.
    pub password: String,
    /// The access token of the last login.
    pub token: String,
}

/// A session or an API key.
#[derive(Clone, Debug)]
pub struct OpaqueToken {
    /// The id, by which the session or key is deleted.
    pub id: i64,
    /// The token that clients present.
    pub token: String,
}

impl OpaqueToken {
    fn of(response: &TestResponse, field: &str) -> Self {
        let body = response.expect(201).json();
        let token = body[field]
            .as_str()
            .unwrap_or_else(|| panic!("no {field}: {response}"));
        Self {
            id: body["id"].as_i64().expect("an id"),
            token: token.to_owned(),
        }
    }
}

impl TestUser {
    /// Logs in.
    ///
    /// # Panics
    ///
    /// Panics if the response is not a token of the documented form.
    pub async fn log_in(bearer: &Api, username: &str, password: &str) -> Self {
        Self::of_login(
            &log_in(bearer, username, password).await,
            username,
            password,
        )
    }

    /// Returns the user whose login got this response.
    ///
    /// # Panics
    ///
    /// Panics if the response is not a token of the documented form.
    pub fn of_login(response: &TestResponse, username: &str, password: &str) -> Self {
        let body = response.expect(200).json();
        let token = body["access_token"].as_str().unwrap_or_default().to_owned();
        response.expect_json(
            200,
            &json!({ "access_token": token, "token_type": "bearer" }),
        );
        let id = token::claims(&token)["sub"]
            .as_str()
            .and_then(|sub| sub.parse().ok());
        Self {
            id: id.unwrap_or_else(|| panic!("the sub of {token} is not an id")),
            username: username.to_owned(),
            password: password.to_owned(),
            token,
        }
    }

    /// Registers a user and logs in.
    pub async fn register(bearer: &Api, username: &str) -> Self {
        // The password takes only the first characters of a long name, so that it has at most 72
        // bytes.
        let password = format!(
            "password of {}",
            username.chars().take(10).collect::<String>()
        );
        register(bearer, username, &password)
            .await
            .expect_message("User registered successfully.");
        Self::log_in(bearer, username, &password).await
    }

    /// Creates a session.
    pub async fn session(&self, bearer: &Api) -> OpaqueToken {
        let body = json!({ "username": self.username, "password": self.password });
        OpaqueToken::of(&bearer.post("/sessions", &body).await, "token")
    }

    /// Creates an API key with the user's role, using the access token.
    pub async fn key(&self, bearer: &Api) -> OpaqueToken {
        let body = json!({ "name": "a program" });
        OpaqueToken::of(
            &bearer
                .with_token(&self.token)
                .post("/profile/keys", &body)
                .await,
            "key",
        )
    }
}

/// Sends a registration.
pub(crate) async fn register(api: &Api, username: &str, password: &str) -> TestResponse {
    api.post(
        "/register",
        &json!({ "username": username, "password": password }),
    )
    .await
}

/// Sends a login.
pub(crate) async fn log_in(api: &Api, username: &str, password: &str) -> TestResponse {
    api.post(
        "/login",
        &json!({ "username": username, "password": password }),
    )
    .await
}
