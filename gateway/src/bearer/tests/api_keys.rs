//! Tests API keys, and how tokens are revoked.

use super::{gateway, send_one, with_token};
use crate::test_support::{Calls, authorized, json, send, time};
use auth_fixture::{credential, refusal};
use axum::Router;
use rolegate_auth_client::{
    Reason,
    auth_v1::{ApiKey, CreateApiKeyResponse, ListApiKeysResponse},
};
use serde_json::json;

fn prefix(key: &str) -> &str {
    &key[..8]
}

/// Returns a gateway to an auth-service that answers fixed times.
fn gateway_with_times() -> (Router, Calls) {
    let (gateway, calls) = gateway();
    calls.edit("ListApiKeys", |keys: &mut ListApiKeysResponse| {
        keys.api_keys.iter_mut().for_each(set_times);
    });
    calls.edit("CreateApiKey", |created: &mut CreateApiKeyResponse| {
        created.api_key.iter_mut().for_each(set_times);
    });
    (gateway, calls)
}

/// Sets the times of a stored key.
fn set_times(key: &mut ApiKey) {
    key.created_at = time(1);
    key.last_used_at = None;
}

#[tokio::test]
async fn success_bodies_are_those_of_the_documents() {
    let key = json!({
        "id": 1, "name": "nightly export", "prefix": prefix(credential("rgk_user").expect("a key")),
        "role": "user", "groups": null,
        "created_at": "1970-01-01T00:00:01.000Z", "expires_at": null, "last_used_at": null,
    });
    for (method, path, token, body) in [
        ("POST", "/logout", "user", json!({"message": "Logged out."})),
        (
            "DELETE",
            "/users/2/tokens",
            "admin",
            json!({"message": "Tokens revoked."}),
        ),
        ("GET", "/profile/keys", "user", json!({"keys": [key]})),
        ("GET", "/profile/keys", "author", json!({"keys": []})),
        ("GET", "/profile/keys/1", "user", key.clone()),
        ("GET", "/users/2/keys", "admin", json!({"keys": [key]})),
        ("GET", "/users/2/keys/1", "admin", key.clone()),
        (
            "DELETE",
            "/profile/keys/1",
            "user",
            json!({"message": "API key deleted."}),
        ),
        (
            "DELETE",
            "/users/2/keys/1",
            "admin",
            json!({"message": "API key deleted."}),
        ),
        (
            "DELETE",
            "/profile/keys",
            "user",
            json!({"message": "API keys deleted."}),
        ),
        (
            "DELETE",
            "/users/2/keys",
            "admin",
            json!({"message": "API keys deleted."}),
        ),
    ] {
        let (gateway, _) = gateway_with_times();
        send(
            &gateway,
            authorized(method, path, &format!("Bearer {token}")),
        )
        .await
        .assert_ok(&body);
    }
    let (gateway, calls) = gateway_with_times();
    let request = r#"{"name": "ci", "expires_at": "2030-01-31T01:00:00+01:00"}"#;
    let created = send(
        &gateway,
        with_token(json("POST", "/profile/keys", request), "user"),
    )
    .await;
    let issued: CreateApiKeyResponse = calls.last_response("CreateApiKey");
    let id = issued.api_key.expect("a key").id;
    let location = format!("/profile/keys/{id}");
    assert_eq!(
        (created.status.as_u16(), created.header("location")),
        (201, &*location)
    );
    let expected = json!({
        "key": issued.key, "id": id, "name": "ci", "prefix": prefix(&issued.key), "role": null, "groups": null,
        "created_at": "1970-01-01T00:00:01.000Z", "expires_at": "2030-01-31T00:00:00.000Z",
        "last_used_at": null,
    });
    assert_eq!(created.body, expected);
    let request = r#"{"name": "ci", "role": "editor"}"#;
    let created = send(
        &gateway,
        with_token(json("POST", "/users/2/keys", request), "rgs_admin"),
    )
    .await;
    let issued: CreateApiKeyResponse = calls.last_response("CreateApiKey");
    let id = issued.api_key.expect("a key").id;
    let location = format!("/users/2/keys/{id}");
    assert_eq!(
        (created.status.as_u16(), created.header("location")),
        (201, &*location)
    );
    let expected = json!({
        "key": issued.key, "id": id, "name": "ci", "prefix": prefix(&issued.key), "role": "editor", "groups": null,
        "created_at": "1970-01-01T00:00:01.000Z", "expires_at": null, "last_used_at": null,
        "created_by": "admin",
    });
    assert_eq!(created.body, expected);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn requests_are_checked_in_the_documented_order() {
    let keys = "/profile/keys";
    let (forbidden, not_json) = (
        "Insufficient privileges.",
        "Request body is not valid JSON.",
    );
    let not_integer = |name| format!("Path parameter \"{name}\" must be an integer.");
    let not_text = "Field \"name\" is required and must be a string.";
    let not_a_time =
        "Field \"expires_at\" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z.";
    let too_large = " ".repeat(64 * 1024 + 1);
    for (method, token, path, body, status, detail) in [
        ("POST", "", keys, &*too_large, 401, "Not authenticated."),
        (
            "POST",
            "rgk_unknown",
            keys,
            &too_large,
            401,
            "Invalid or expired token.",
        ),
        ("POST", "rgk_user", keys, &too_large, 403, forbidden),
        (
            "POST",
            "user",
            keys,
            &too_large,
            413,
            "Request body too large.",
        ),
        ("POST", "user", keys, "{", 400, not_json),
        ("POST", "user", keys, "{}", 400, not_text),
        ("POST", "user", keys, r#"{"name": 1}"#, 400, not_text),
        (
            "POST",
            "user",
            keys,
            r#"{"name": "a", "role": null}"#,
            400,
            "Field \"role\" must be a string.",
        ),
        (
            "POST",
            "user",
            keys,
            r#"{"name": "a", "expires_at": 7}"#,
            400,
            "Field \"expires_at\" must be a string.",
        ),
        (
            "POST",
            "user",
            keys,
            r#"{"name": "", "expires_at": "soon"}"#,
            400,
            not_a_time,
        ),
        (
            "POST",
            "user",
            keys,
            r#"{"name": "", "role": "root"}"#,
            400,
            "API key name must have 1 to 100 characters.",
        ),
        (
            "POST",
            "user",
            keys,
            r#"{"name": "a", "role": "root"}"#,
            400,
            "Invalid role.",
        ),
        (
            "PUT",
            "rgk_user",
            "/profile/password",
            &too_large,
            403,
            forbidden,
        ),
        (
            "DELETE",
            "bad",
            "/profile/keys/x",
            "",
            401,
            "Invalid or expired token.",
        ),
        (
            "DELETE",
            "user",
            "/profile/keys/x",
            "",
            400,
            &not_integer("key_id"),
        ),
        (
            "DELETE",
            "user",
            "/profile/keys/2",
            "",
            404,
            "API key not found.",
        ),
        (
            "GET",
            "user",
            "/profile/keys/99999999999999999999",
            "",
            404,
            "API key not found.",
        ),
        ("GET", "user", "/users/x/keys/x", "", 403, forbidden),
        (
            "GET",
            "admin",
            "/users/x/keys/x",
            "",
            400,
            &not_integer("user_id"),
        ),
        (
            "GET",
            "admin",
            "/users/2/keys/x",
            "",
            400,
            &not_integer("key_id"),
        ),
        (
            "GET",
            "admin",
            "/users/2/keys/%FF",
            "",
            400,
            &not_integer("user_id"),
        ),
        (
            "GET",
            "admin",
            "/users/99/keys/1",
            "",
            404,
            "User not found.",
        ),
        (
            "DELETE",
            "admin",
            "/users/99/keys/1",
            "",
            404,
            "User not found.",
        ),
        (
            "DELETE",
            "admin",
            "/users/3/keys/1",
            "",
            404,
            "API key not found.",
        ),
        (
            "DELETE",
            "admin",
            "/users/99/tokens",
            "",
            404,
            "User not found.",
        ),
        (
            "DELETE",
            "admin",
            "/users/x/tokens",
            "",
            400,
            &not_integer("user_id"),
        ),
    ] {
        let request = json(method, path, body);
        let request = if token.is_empty() {
            request
        } else {
            with_token(request, token)
        };
        send_one(request).await.assert_error(status, detail);
    }
}

#[tokio::test]
async fn keys_of_other_users_need_a_role_and_a_person() {
    let (of_user, of_99) = ("/users/2/keys", "/users/99/keys");
    let (forbidden, not_integer) = (
        "Insufficient privileges.",
        "Path parameter \"user_id\" must be an integer.",
    );
    let needs_role = "Field \"role\" is required and must be a string.";
    let key = |name: &str, role: &str| format!(r#"{{"name": "{name}", "role": "{role}"}}"#);
    let own = "An admin creates their own API keys.";
    let too_large = " ".repeat(64 * 1024 + 1);
    for (token, path, body, status, detail) in [
        ("", of_99, &*too_large, 401, "Not authenticated."),
        (
            "rgk_unknown",
            of_99,
            &too_large,
            401,
            "Invalid or expired token.",
        ),
        ("rgs_user", of_99, &too_large, 403, forbidden),
        ("rgk_admin", of_99, &too_large, 403, forbidden),
        (
            "admin",
            "/users/x/keys",
            &too_large,
            413,
            "Request body too large.",
        ),
        (
            "admin",
            "/users/x/keys",
            "{",
            400,
            "Request body is not valid JSON.",
        ),
        ("admin", "/users/x/keys", "{}", 400, not_integer),
        (
            "admin",
            "/users/%FF/keys",
            &key("a", "user"),
            400,
            not_integer,
        ),
        ("admin", of_99, r#"{"name": "a"}"#, 400, needs_role),
        (
            "admin",
            of_99,
            r#"{"name": "a", "role": null}"#,
            400,
            "Field \"role\" must be a string.",
        ),
        (
            "admin",
            of_99,
            r#"{"name": "a", "role": 1}"#,
            400,
            "Field \"role\" must be a string.",
        ),
        (
            "admin",
            of_99,
            r#"{"name": "", "expires_at": "soon"}"#,
            400,
            needs_role,
        ),
        ("admin", of_99, &key("a", "user"), 404, "User not found."),
        (
            "admin",
            "/users/99999999999999999999/keys",
            &key("a", "user"),
            404,
            "User not found.",
        ),
        ("admin", "/users/1/keys", &key("", "root"), 400, own),
        (
            "admin",
            of_user,
            &key("", "root"),
            400,
            "API key name must have 1 to 100 characters.",
        ),
        ("admin", of_user, &key("a", "admin"), 400, "Invalid role."),
        ("admin", of_user, &key("a", "root"), 400, "Invalid role."),
        ("admin", of_user, &key("a", ""), 400, "Invalid role."),
        ("admin", of_user, &key("a", "Author"), 400, "Invalid role."),
    ] {
        let request = json("POST", path, body);
        let request = if token.is_empty() {
            request
        } else {
            with_token(request, token)
        };
        send_one(request).await.assert_error(status, detail);
    }
}

#[tokio::test]
async fn a_key_that_is_one_too_many_is_refused() {
    let (gateway, calls) = gateway();
    calls.fail("one too many", refusal(Reason::ApiKeyLimit));
    let body = r#"{"name": "one too many"}"#;
    let request = with_token(json("POST", "/profile/keys", body), "user");
    let refused = send(&gateway, request).await;
    refused.assert_error(400, "A user can have at most 50 API keys.");
}

/// The previous release creates every key for the actor.
#[tokio::test]
async fn a_key_for_somebody_else_is_an_error() {
    let (gateway, calls) = gateway();
    calls.edit("CreateApiKey", |created: &mut CreateApiKeyResponse| {
        created.api_key.as_mut().expect("a key").user_id = 1;
    });
    let body = r#"{"name": "a", "role": "user"}"#;
    let request = with_token(json("POST", "/users/2/keys", body), "admin");
    let created = send(&gateway, request).await;
    created.assert_error(500, "Internal server error.");
}
