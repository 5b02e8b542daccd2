//! Tests API keys, and how tokens are revoked.

use super::{send_one, with_token};
use crate::test_support::{authorized, json};
use serde_json::json;

#[tokio::test]
async fn success_bodies_are_those_of_the_documents() {
    let key = json!({
        "id": 1, "name": "nightly export", "prefix": "rgk_user", "role": "user",
        "created_at": "1970-01-01T00:00:01.000Z", "expires_at": null, "last_used_at": null,
    });
    for (method, path, token, body) in [
        ("POST", "/logout", "user", json!({"message": "Logged out."})),
        (
            "DELETE",
            "/users/1/tokens",
            "admin",
            json!({"message": "Tokens revoked."}),
        ),
        ("GET", "/profile/keys", "user", json!({"keys": [key]})),
        ("GET", "/profile/keys", "author", json!({"keys": []})),
        ("GET", "/profile/keys/1", "user", key.clone()),
        ("GET", "/users/1/keys", "admin", json!({"keys": [key]})),
        ("GET", "/users/1/keys/1", "admin", key.clone()),
        (
            "DELETE",
            "/profile/keys/1",
            "user",
            json!({"message": "API key deleted."}),
        ),
        (
            "DELETE",
            "/users/1/keys/1",
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
            "/users/1/keys",
            "admin",
            json!({"message": "API keys deleted."}),
        ),
    ] {
        send_one(authorized(method, path, &format!("Bearer {token}")))
            .await
            .assert_ok(&body);
    }
    let request = r#"{"name": "ci", "expires_at": "2030-01-31T01:00:00+01:00"}"#;
    let created = send_one(with_token(json("POST", "/profile/keys", request), "user")).await;
    assert_eq!(
        (created.status.as_u16(), created.header("location")),
        (201, "/profile/keys/1")
    );
    let expected = json!({
        "key": "rgk_user", "id": 1, "name": "ci", "prefix": "rgk_user", "role": null,
        "created_at": "1970-01-01T00:00:01.000Z", "expires_at": "2030-01-31T00:00:00.000Z",
        "last_used_at": null,
    });
    assert_eq!(created.body, expected);
    let request = r#"{"name": "ci", "role": "editor"}"#;
    let created = send_one(with_token(
        json("POST", "/users/1/keys", request),
        "rgs_admin",
    ))
    .await;
    assert_eq!(
        (created.status.as_u16(), created.header("location")),
        (201, "/users/1/keys/1")
    );
    let expected = json!({
        "key": "rgk_user", "id": 1, "name": "ci", "prefix": "rgk_user", "role": "editor",
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
            "API key name must be longer.",
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
            "POST",
            "user",
            keys,
            r#"{"name": "one too many"}"#,
            400,
            "A user can have at most 50 API keys.",
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
            "/users/1/keys/x",
            "",
            400,
            &not_integer("key_id"),
        ),
        (
            "GET",
            "admin",
            "/users/1/keys/%FF",
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
            "/users/2/keys/1",
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
    let (of_1, of_99) = ("/users/1/keys", "/users/99/keys");
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
        ("admin", "/users/3/keys", &key("", "root"), 400, own),
        (
            "admin",
            of_1,
            &key("", "root"),
            400,
            "API key name must be longer.",
        ),
        ("admin", of_1, &key("a", "admin"), 400, "Invalid role."),
        ("admin", of_1, &key("a", "root"), 400, "Invalid role."),
        ("admin", of_1, &key("a", ""), 400, "Invalid role."),
        ("admin", of_1, &key("a", "Author"), 400, "Invalid role."),
        (
            "admin",
            of_1,
            &key("of the actor", "user"),
            500,
            "Internal server error.",
        ),
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
