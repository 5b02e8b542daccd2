//! Error responses in the OpenAPI document.
#![expect(
    dead_code,
    reason = "the types describe responses and are never constructed"
)]

use rolegate_proto::{Reason, http::HttpReason};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        Content, ObjectBuilder, Ref, RefOr, Response, Type, example::ExampleBuilder,
        path::Operation,
    },
};

/// The body of every error.
// `rolegate_auth_client::axum::ApiError` serializes it.
#[derive(ToSchema)]
#[schema(as = ApiError)]
pub(crate) struct ErrorBody {
    /// What is wrong, as a sentence.
    #[schema(example = "User not found.")]
    detail: String,
}

pub(crate) const REASON_SCHEMA: &str = "Reason";

/// Any text, because later versions have more reasons.
pub(crate) fn reason_schema() -> ObjectBuilder {
    let of_services = Reason::ALL.iter().map(|reason| reason.as_str());
    let reasons = of_services.chain(HttpReason::ALL.iter().map(|reason| reason.http().0));
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "Why the request failed, for programs. Stable; later versions have more.",
        ))
        .examples(reasons.collect::<BTreeSet<_>>())
}

/// The response of endpoints that verify passwords or register users.
#[derive(IntoResponses)]
#[response(
    status = 429,
    description = "Too many recent failures from this client or for this username.",
    headers(("Retry-After" = u64, description = "Seconds.")),
    example = json!("Too many attempts, try again later.")
)]
pub(crate) struct TooManyAttempts(ErrorBody);

/// The response where something is added to a user without a check of a password.
#[derive(IntoResponses)]
#[response(
    status = 429,
    description = "The user has had 140 new API keys, sessions and second factors within a minute.",
    headers(("Retry-After" = u64, description = "Seconds.")),
    example = json!("Too many attempts, try again later.")
)]
pub(crate) struct TooManyAdditions(ErrorBody);

/// The response where something is added to a user after a check of the password.
#[derive(IntoResponses)]
#[response(
    status = 429,
    description = "Too many recent failures from this client or for this username, or the user has had 140 new \
                   API keys, sessions and second factors within a minute.",
    headers(("Retry-After" = u64, description = "Seconds.")),
    example = json!("Too many attempts, try again later.")
)]
pub(crate) struct TooManyAttemptsOrAdditions(ErrorBody);

#[derive(IntoResponses)]
#[response(
    status = 403,
    description = "The caller presented an API key. Any `user`, `author` or `admin` with an access token \
                   or session is admitted.",
    example = json!("Insufficient privileges.")
)]
pub(crate) struct AccessTokenNeeded(ErrorBody);

#[derive(IntoResponses)]
#[response(
    status = 403,
    description = "The user's stored role is not `author` or `admin`, or the user is an author and \
                   not the owner of the post.",
    example = json!("Insufficient privileges.")
)]
pub(crate) struct NotPostOwner(ErrorBody);

/// Adds `details` as examples to the response of this status. `description` is used if the
/// operation does not describe the status itself.
pub(crate) fn add_response(
    operation: &mut Operation,
    status: u16,
    description: &str,
    details: &[&str],
) {
    let responses = &mut operation.responses.responses;
    let response = responses
        .entry(status.to_string())
        .or_insert_with(|| RefOr::T(Response::new(description)));
    let RefOr::T(response) = response else {
        unreachable!("annotations describe responses in place");
    };
    let content = response
        .content
        .entry("application/json".to_owned())
        .or_insert_with(|| RefOr::T(Content::new(Some(Ref::from_schema_name("ApiError")))));
    let RefOr::T(content) = content else {
        unreachable!("annotations describe bodies in place");
    };
    // OpenAPI allows either one `example` or several `examples`.
    if let ([only], None, true) = (details, &content.example, content.examples.is_empty()) {
        content.example = Some(json!(only));
        return;
    }
    let only = content.example.take();
    for detail in only
        .iter()
        .filter_map(Value::as_str)
        .chain(details.iter().copied())
    {
        let example = ExampleBuilder::new().value(Some(json!({ "detail": detail })));
        content
            .examples
            .insert(detail.to_owned(), example.build().into());
    }
}
