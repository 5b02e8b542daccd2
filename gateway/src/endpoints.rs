//! The endpoints by topic: handlers with their request and response bodies and OpenAPI annotations.
//!
//! The route tables guard routes by role before the body is read; auth-service and posts-service
//! check the actor again.

pub(crate) mod access;
pub(crate) mod accounts;
pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod password_links;
pub(crate) mod passwords;
pub(crate) mod posts;
mod schemas;
pub(crate) mod second_factor;
pub(crate) mod sessions;
pub(crate) mod user_creation;
pub(crate) mod users;

use crate::openapi::{operations, responses::add_response};
use axum::Json;
use humantime::format_rfc3339_millis;
use rolegate_auth_client::axum::ApiError;
use serde::Serialize;
use std::{borrow::Cow, mem, time::SystemTime};
use utoipa::ToSchema;
use utoipa_axum::router::UtoipaMethodRouter;

type Answer<T> = Result<Json<T>, ApiError>;

/// The result of the request.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Message {
    message: Cow<'static, str>,
}

/// `{"message": text}`.
fn message(text: impl Into<Cow<'static, str>>) -> Json<Message> {
    Json(Message {
        message: text.into(),
    })
}

fn rfc3339(time: SystemTime) -> String {
    format_rfc3339_millis(time).to_string()
}

/// The same endpoints about any user. They are for admins, so a guard describes their 403.
pub(crate) fn of_any_user<S>(
    (schemas, mut paths, methods): UtoipaMethodRouter<S>,
) -> UtoipaMethodRouter<S> {
    for operation in paths.paths.values_mut().flat_map(operations) {
        operation.responses.responses.remove("403");
        let texts = [&mut operation.operation_id, &mut operation.summary];
        for text in texts.into_iter().flatten() {
            *text = text
                .replace("_own_", "_user_")
                .replace("the current user", "a user");
        }
    }
    for post in paths
        .paths
        .values_mut()
        .filter_map(|path| path.post.as_mut())
    {
        post.operation_id = post
            .operation_id
            .take()
            .map(|id| id.replace("_api_", "_user_"));
        let refused = "The user's stored role is not `admin`, or the caller presented an API key.";
        add_response(post, 403, refused, &[]);
    }
    let moved = |(path, item): (String, _)| (path.replace("/profile", "/users/{user_id}"), item);
    paths.paths = mem::take(&mut paths.paths).into_iter().map(moved).collect();
    (schemas, paths, methods)
}
