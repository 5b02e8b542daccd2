//! Error responses as the document describes them.

use serde_json::json;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        Content, Ref, RefOr, Response,
        example::{Example, ExampleBuilder},
        path::Operation,
    },
};

/// The body of every error.
#[derive(ToSchema)]
#[schema(as = ApiError)]
#[expect(
    dead_code,
    reason = "describes what `rolegate_auth_client::axum::ApiError` is on the wire"
)]
pub(crate) struct ErrorBody {
    /// What is wrong, as a sentence.
    #[schema(example = "User not found.")]
    detail: String,
}

/// What an endpoint may answer that asks another service. Those with a request body or behind
/// authentication have it without asking for it.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes; never made")]
pub(crate) enum UpstreamUnavailable {
    /// Who could answer cannot be asked, or has no time.
    #[response(
        status = 503,
        headers(("Retry-After" = u64, description = "Seconds.")),
        examples(
            ("unavailable" = (value = json!({"detail": "Service temporarily unavailable."}))),
            ("busy" = (value = json!({"detail": "Service is busy, try again."})))
        )
    )]
    Unavailable(ErrorBody),
    /// There was no answer in time.
    #[response(status = 504, example = json!({"detail": "Upstream timed out."}))]
    TimedOut(ErrorBody),
}

/// What an endpoint may answer that checks passwords or registers users.
#[derive(IntoResponses)]
#[response(
    status = 429,
    description = "Too many failures from this client lately, or for this username.",
    headers(("Retry-After" = u64, description = "Seconds.")),
    example = json!({"detail": "Too many attempts, try again later."})
)]
#[expect(dead_code, reason = "describes; never made")]
pub(crate) struct TooManyAttempts(ErrorBody);

/// What an endpoint answers whose path names a user.
#[derive(IntoResponses)]
#[response(
    status = 404,
    description = "Nobody has this id.",
    example = json!({"detail": "User not found."})
)]
#[expect(dead_code, reason = "describes; never made")]
pub(crate) struct UserNotFound(ErrorBody);

/// What an endpoint answers whose path names a post.
#[derive(IntoResponses)]
#[response(
    status = 404,
    description = "No post has this id.",
    example = json!({"detail": "Post not found."})
)]
#[expect(dead_code, reason = "describes; never made")]
pub(crate) struct PostNotFound(ErrorBody);

/// What an endpoint answers that changes a post.
#[derive(IntoResponses)]
#[response(
    status = 403,
    description = "The user's stored role is not `author` or `admin`, or the user is an author and \
                   the post is another's.",
    example = json!({"detail": "Insufficient privileges."})
)]
#[expect(dead_code, reason = "describes; never made")]
pub(crate) struct NotPostOwner(ErrorBody);

/// What an endpoint answers that lists.
#[derive(IntoResponses)]
#[response(
    status = 400,
    description = "A parameter is out of bounds or given more than once.",
    example = json!({
        "detail": "Query parameter \"limit\" must be a whole number from 1 to 200."
    })
)]
#[expect(dead_code, reason = "describes; never made")]
pub(crate) struct InvalidQuery(ErrorBody);

/// Documents that `operation` may answer with `status` and each of `details`, besides what it says
/// of this status itself.
pub(crate) fn add_response<'a>(
    operation: &'a mut Operation,
    status: u16,
    description: &str,
    details: &[&str],
) -> &'a mut Response {
    let responses = &mut operation.responses.responses;
    let response =
        responses.entry(status.to_string()).or_insert_with(|| RefOr::T(Response::new(description)));
    let RefOr::T(response) = response else {
        unreachable!("annotations describe answers in place");
    };
    let content = response
        .content
        .entry("application/json".to_owned())
        .or_insert_with(|| RefOr::T(Content::new(Some(Ref::from_schema_name("ApiError")))));
    let RefOr::T(content) = content else {
        unreachable!("annotations describe bodies in place");
    };
    // OpenAPI has one example or several, not both.
    if let Some(only) = content.example.take() {
        let name = only["detail"].as_str().unwrap_or("example").to_owned();
        content.examples.insert(name, example(only));
    }
    for detail in details {
        content.examples.insert((*detail).to_owned(), example(json!({ "detail": detail })));
    }
    response
}

fn example(value: serde_json::Value) -> RefOr<Example> {
    ExampleBuilder::new().value(Some(value)).build().into()
}
