//! Enrolls and turns off the second factor of the current user at `/profile/second-factor`. Admins can remove it from
//! other users.

use super::{
    CURRENT_USER, JsonResult, Message, message,
    users::{UserNotFound, UserPath},
};
use crate::{
    extract::{credentials::PersonalToken, json_body::JsonBody, path_ids::PathIds},
    openapi::responses::{
        AdminTokenRequired, ErrorBody, PersonalTokenRequired, TooManyAttempts,
        TooManyAttemptsOrAdditions,
    },
    state::GatewayState,
};
use axum::{Json, extract::State, response::IntoResponse};
use http::{HeaderMap, StatusCode};
use rolegate_auth_client::{ActingClient, axum::ApiError};
use rolegate_proto::auth_v1::{
    DisableSecondFactorRequest, EnableSecondFactorRequest, GetSecondFactorRequest,
};
use rolegate_sign_in::origin::Origin;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::ToSchema;

/// The maximum length of a host name, in bytes (RFC 1035, section 2.3.4).
const MAX_HOST_LEN: usize = 255;

/// The current password of the user.
#[derive(Deserialize, ToSchema)]
pub(crate) struct EnrolmentRequest {
    #[schema(value_type = String, format = Password, example = "open sesame")]
    current_password: SecretString,
}

/// The secret and the recovery codes of a new second factor. They are shown only in this response.
#[derive(Serialize, ToSchema)]
#[schema(as = NewSecondFactor)]
pub(crate) struct EnrolmentResponse {
    /// The secret in base32, for an authenticator application.
    #[schema(example = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")]
    secret: String,
    /// The secret with its parameters as a URL, to be shown as a QR code.
    #[schema(
        example = "otpauth://totp/Rolegate:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Rolegate\
                        &algorithm=SHA1&digits=6&period=30"
    )]
    otpauth_url: String,
    /// Ten recovery codes. Each can be used once in place of a one-time code.
    #[schema(example = json!(["gezdg-nbvgy-3tqoj-qgezd-gnbvgy"]))]
    recovery_codes: Vec<String>,
}

/// Start enrolling a second factor
///
/// Returns a secret for an authenticator application, and ten recovery codes. Show them to the user. Logins do not need
/// a code yet: to turn the second factor on, send a code of the application with `PUT /profile/second-factor`. If
/// enrolling is started again, the secret and the recovery codes are replaced.
///
/// The current password is required, and a wrong one counts against the rate limits of logins. Any user may call this
/// endpoint, but not with an API key.
#[utoipa::path(
    post,
    path = "/profile/second-factor",
    request_body = EnrolmentRequest,
    responses(
        (status = 201, description = "The secret and the recovery codes.", body = EnrolmentResponse),
        (status = 400, description = "The current password is wrong, the second factor is already \
                                      on, the service offers no second factor, or the request \
                                      body is malformed.",
            body = ErrorBody, example = "Current password is incorrect."),
        PersonalTokenRequired,
        TooManyAttemptsOrAdditions
    )
)]
pub(crate) async fn enrol_second_factor(
    State(state): State<GatewayState>,
    PersonalToken { client, username }: PersonalToken,
    headers: HeaderMap,
    JsonBody(EnrolmentRequest { current_password }): JsonBody<EnrolmentRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let issuer = issuer(&state, &headers);
    let call = client.enrol_second_factor(&username, &current_password, issuer.as_deref());
    let enrolment = state.refusals.pace(client.context(), call.await).await?;
    let reveal = |secret: &SecretString| secret.expose_secret().to_owned();
    let response = EnrolmentResponse {
        secret: reveal(&enrolment.secret),
        otpauth_url: reveal(&enrolment.otpauth_url),
        recovery_codes: enrolment.recovery_codes.iter().map(reveal).collect(),
    };
    Ok((StatusCode::CREATED, Json(response)))
}

/// Returns the issuer, which authenticator applications show beside the username. It is the title of the pages if one
/// is set, and otherwise the host of the sign-in page. If `SIGN_IN_URL` is only a path, that is the host of the
/// request.
///
/// Returns `None` if that host is an IPv6 address, because an issuer cannot have colons, or if it is unknown or too
/// long.
fn issuer(state: &GatewayState, headers: &HeaderMap) -> Option<String> {
    let settings = &state.sign_in_settings;
    if let Some(title) = &settings.brand.sign_in_title {
        return Some(title.clone());
    }
    let url = match Url::parse(&settings.sign_in_url) {
        Ok(page) => page,
        Err(_) => Origin::from_request_headers(headers)?.url().clone(),
    };
    let host = url.host_str()?;
    if host.len() > MAX_HOST_LEN || host.contains(':') {
        return None;
    }
    Some(host.to_owned())
}

/// The code that turns the second factor on or off.
#[derive(Deserialize, ToSchema)]
pub(crate) struct OtpRequest {
    /// A one-time code of six digits. To turn the second factor off, it may also be a recovery code. White space and
    /// hyphens are ignored, and digits of any script are accepted.
    #[schema(value_type = String, example = "123456")]
    otp: SecretString,
}

/// Turn on the second factor
///
/// Finishes enrolling, which `POST /profile/second-factor` started. Every login then needs a code after the password,
/// and HTTP Basic is refused.
///
/// Revokes all access tokens and ends all sessions of the user, including that of this request, so log in again. API
/// keys stay valid. Any user may call this endpoint, but not with an API key.
#[utoipa::path(
    put,
    path = "/profile/second-factor",
    request_body = OtpRequest,
    responses(
        (status = 200, body = Message, example = "Second factor is on."),
        (status = 400, description = "The code is wrong, the second factor is already on, \
                                      enrolling was not started, or the request body is \
                                      malformed.",
            body = ErrorBody, example = "One-time code is incorrect."),
        PersonalTokenRequired,
        TooManyAttempts
    )
)]
pub(crate) async fn enable_second_factor(
    State(state): State<GatewayState>,
    PersonalToken { client, .. }: PersonalToken,
    JsonBody(OtpRequest { otp }): JsonBody<OtpRequest>,
) -> JsonResult<Message> {
    let otp = otp.expose_secret().to_owned();
    let call = client.send(EnableSecondFactorRequest { otp });
    state.refusals.pace(client.context(), call.await).await?;
    Ok(message("Second factor is on."))
}

/// Turn off the second factor
///
/// Requires a one-time code or a recovery code. Logins then need only the password. Any user may call this endpoint,
/// but not with an API key.
#[utoipa::path(
    delete,
    path = "/profile/second-factor",
    request_body = OtpRequest,
    responses(
        (status = 200, body = Message, example = "Second factor is off."),
        (status = 400, description = "The code is wrong, the second factor is off, or the request \
                                      body is malformed.",
            body = ErrorBody, example = "One-time code is incorrect."),
        PersonalTokenRequired,
        TooManyAttempts
    )
)]
pub(crate) async fn disable_second_factor(
    State(state): State<GatewayState>,
    PersonalToken { client, .. }: PersonalToken,
    JsonBody(OtpRequest { otp }): JsonBody<OtpRequest>,
) -> JsonResult<Message> {
    let call = client.send(DisableSecondFactorRequest {
        user_id: CURRENT_USER,
        otp: otp.expose_secret().to_owned(),
    });
    state.refusals.pace(client.context(), call.await).await?;
    Ok(message("Second factor is off."))
}

/// The state of a user's second factor.
#[derive(Serialize, ToSchema)]
#[schema(as = SecondFactor)]
pub(crate) struct SecondFactorResponse {
    /// True if logins need a code.
    enabled: bool,
    /// How many recovery codes are left.
    #[schema(minimum = 0, maximum = 10, example = 10)]
    recovery_codes: i64,
}

/// Get the state of the second factor
///
/// Returns whether the current user's second factor is on, and how many recovery codes are left. Any user may call this
/// endpoint.
#[utoipa::path(
    get,
    path = "/profile/second-factor",
    responses((status = 200, body = SecondFactorResponse))
)]
pub(crate) async fn get_second_factor(client: ActingClient) -> JsonResult<SecondFactorResponse> {
    let second_factor = client.send(GetSecondFactorRequest {}).await?;
    Ok(Json(SecondFactorResponse {
        enabled: second_factor.enabled,
        recovery_codes: second_factor.recovery_codes,
    }))
}

/// Remove another user's second factor
///
/// Use this for a user who has lost the device and the recovery codes. The password alone is then enough to log in,
/// until the user enrolls again. Only admins may call this endpoint, and not with an API key.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/second-factor",
    params(UserPath),
    responses(
        (status = 200, body = Message, example = "Second factor is off."),
        (status = 400, description = "The second factor is off, the user is the caller, or the id \
                                      is not an integer.",
            body = ErrorBody, example = "Second factor is not on."),
        AdminTokenRequired,
        UserNotFound
    )
)]
pub(crate) async fn remove_second_factor(
    PersonalToken { client, .. }: PersonalToken,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<Message> {
    // Only users who turn off their own second factor need a code.
    let request = DisableSecondFactorRequest {
        user_id: Some(user_id),
        otp: String::new(),
    };
    client.send(request).await?;
    Ok(message("Second factor is off."))
}
