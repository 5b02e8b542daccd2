//! Describes error responses in the OpenAPI document.

use rolegate_proto::{Reason, http::HttpReason};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use utoipa::{
    ToSchema,
    openapi::{
        Content, ObjectBuilder, Ref, RefOr, Response, Responses, Type, example::ExampleBuilder,
    },
};

/// The body of every error.
// This type only describes the body, which `rolegate_auth_client::axum::ApiError` writes.
#[derive(ToSchema)]
#[schema(as = ApiError)]
#[expect(dead_code, reason = "describes a body and is never constructed")]
pub(crate) struct ErrorBody {
    /// A sentence that tells people what is wrong.
    #[schema(example = "User not found.")]
    detail: String,
}

pub(crate) const REASON_SCHEMA: &str = "Reason";

/// Returns the schema of reasons. It allows any text, because later versions may have more reasons.
pub(super) fn reason_schema() -> ObjectBuilder {
    let service_reasons = Reason::ALL.iter().map(|reason| reason.as_str());
    let http_reasons = HttpReason::ALL.iter().map(|reason| reason.as_str());
    let reasons: BTreeSet<_> = service_reasons.chain(http_reasons).collect();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "Why the request failed, for programs to compare. Reasons are stable, and later versions \
             may add more.",
        ))
        .examples(reasons)
}

/// Declares an error for the `responses(…)` of annotations: the status, a description, and the texts that its `detail`
/// can have. `operations` adds its headers, which follow from the status.
macro_rules! error_response {
    ($(#[$attribute:meta])* $Name:ident = $status:literal, $description:literal, $details:expr) => {
        $(#[$attribute])*
        pub(crate) struct $Name;

        impl ::utoipa::IntoResponses for $Name {
            fn responses() -> $crate::openapi::responses::ResponseMap {
                $crate::openapi::responses::describe_error($status, $description, &$details)
            }
        }
    };
}

pub(crate) use error_response;

/// The responses of an operation by status.
pub(crate) type ResponseMap = BTreeMap<String, RefOr<Response>>;

/// The `detail` of every 429.
const TOO_MANY: &str = "Too many attempts, try again later.";

error_response! {
    /// The error of endpoints that verify passwords or register users.
    TooManyAttempts = 429, "Too many recent failures from this client or for this username.", [TOO_MANY]
}

error_response! {
    /// The error of endpoints that add a credential to a user without verifying a password.
    TooManyAdditions = 429,
    "140 API keys, sessions and second factors were created for the user within a minute.",
    [TOO_MANY]
}

error_response! {
    /// The error of endpoints that add a credential to a user after verifying the password.
    TooManyAttemptsOrAdditions = 429,
    "Too many recent failures from this client or for this username, or 140 API keys, sessions and \
     second factors were created for the user within a minute.",
    [TOO_MANY]
}

error_response! {
    /// The error for an API key at endpoints that admit any user, but only with an access token or session.
    PersonalTokenRequired = 403,
    "The caller presented an API key. With an access token or a session, any `user`, `author` or \
     `admin` is admitted.",
    ["Insufficient privileges."]
}

error_response! {
    /// The error of endpoints that admit only admins with an access token or session.
    AdminTokenRequired = 403,
    "The caller's stored role is not `admin`, or the caller presented an API key.",
    ["Insufficient privileges."]
}

/// Returns the description of an error whose `detail` can be one of `details`, for [`error_response!`].
pub(crate) fn describe_error(status: u16, description: &str, details: &[&str]) -> ResponseMap {
    let mut responses = Responses::new();
    add_response(&mut responses, status, description, details);
    responses.responses
}

/// Adds `details` as examples to the response of this status. `description` is used only if the annotation does not
/// describe the response itself.
pub(super) fn add_response(
    responses: &mut Responses,
    status: u16,
    description: &str,
    details: &[&str],
) {
    let response = responses
        .responses
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
    let annotated = content.example.take();
    let annotated_details = annotated.iter().filter_map(Value::as_str);
    for detail in annotated_details.chain(details.iter().copied()) {
        let example = ExampleBuilder::new().value(Some(json!({ "detail": detail })));
        content
            .examples
            .insert(detail.to_owned(), example.build().into());
    }
}
