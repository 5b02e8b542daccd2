//! Keeps the second factors and the password links of the fake.
//!
//! The second factors of the users `enrolled` and `author` are on, and that of the user `user` is being enrolled. The
//! only valid code is `123 456`, however it is grouped.

use super::{
    api_keys::token,
    users::{error, require_admin, user_of_id, user_of_token},
};
use prost_types::Timestamp;
use rolegate_auth_client::Reason;
use rolegate_proto::auth_v1::{
    CreatePasswordLinkRequest, DisableSecondFactorRequest, EnableSecondFactorRequest,
    EnrolSecondFactorRequest, EnrolSecondFactorResponse, GetPasswordLinkRequest,
    GetPasswordLinkResponse, GetSecondFactorRequest, GetSecondFactorResponse, PasswordLink,
    RedeemPasswordLinkRequest, User,
};
use tonic::{Request, Status};

const AUTHOR: i64 = 2;

/// Checks the code of a login.
pub(super) fn check_code(user: &User, otp: Option<&str>) -> Result<(), Status> {
    match otp {
        _ if user.username != "enrolled" => Ok(()),
        None => Err(error(Reason::OtpRequired, "")),
        Some("flood") => Err(error(Reason::TooManyAttempts, "")),
        Some(otp) if is_good(otp) => Ok(()),
        Some(_) => Err(error(Reason::OtpInvalid, "")),
    }
}

fn is_good(otp: &str) -> bool {
    otp.replace([' ', '-'], "") == "123456"
}

fn take(otp: &str) -> Result<(), Status> {
    match otp {
        "flood" => Err(error(Reason::TooManyAttempts, "")),
        otp if is_good(otp) => Ok(()),
        _ => Err(error(Reason::OtpWrong, "")),
    }
}

/// Returns the bearer. Refuses API keys.
fn person<M>(request: &Request<M>) -> Result<User, Status> {
    let token = token(request);
    let user = user_of_token(token).map_err(|reason| error(reason, ""))?;
    if token.starts_with("rgk_") {
        Err(error(Reason::RoleInsufficient, ""))
    } else {
        Ok(user)
    }
}

pub(super) fn enrol(
    request: &Request<EnrolSecondFactorRequest>,
) -> Result<EnrolSecondFactorResponse, Status> {
    match (
        person(request)?.id,
        request.get_ref().current_password.as_str(),
    ) {
        (AUTHOR, _) => Err(error(
            Reason::SecondFactorState,
            "Second factor is already on.",
        )),
        (3, "none") => Err(error(Reason::SecondFactorUnavailable, "")),
        (_, "flood") => Err(error(Reason::TooManyAttempts, "")),
        (_, "right") => Ok(EnrolSecondFactorResponse {
            secret: "GEZDGNBV".to_owned(),
            otpauth_url: format!("otpauth://totp/{}:user", request.get_ref().issuer()),
            recovery_codes: ["one", "two"].map(str::to_owned).to_vec(),
        }),
        _ => Err(error(Reason::CurrentPasswordWrong, "")),
    }
}

pub(super) fn enable(request: &Request<EnableSecondFactorRequest>) -> Result<(), Status> {
    match person(request)?.id {
        1 => take(&request.get_ref().otp),
        AUTHOR => Err(error(
            Reason::SecondFactorState,
            "Second factor is already on.",
        )),
        _ => Err(error(
            Reason::SecondFactorState,
            "Second factor is not begun.",
        )),
    }
}

pub(super) fn disable(request: &Request<DisableSecondFactorRequest>) -> Result<(), Status> {
    let DisableSecondFactorRequest { user_id, otp } = request.get_ref();
    let user = match user_id {
        None => person(request)?,
        Some(id) => {
            require_admin(request)?;
            if person(request)?.id == *id {
                return Err(error(Reason::OwnSecondFactor, ""));
            }
            user_of_id(*id)?
        }
    };
    match user.id {
        AUTHOR if user_id.is_some() => Ok(()),
        AUTHOR => take(otp),
        _ => Err(error(Reason::SecondFactorState, "Second factor is not on.")),
    }
}

pub(super) fn get(
    request: &Request<GetSecondFactorRequest>,
) -> Result<GetSecondFactorResponse, Status> {
    let user = user_of_token(token(request)).map_err(|reason| error(reason, ""))?;
    let enabled = user.id == AUTHOR;
    Ok(GetSecondFactorResponse {
        enabled,
        recovery_codes: if enabled { 9 } else { 0 },
    })
}

/// Returns the only password link of the fake.
pub(super) fn link() -> PasswordLink {
    let expires_at = Some(Timestamp {
        seconds: 1,
        nanos: 0,
    });
    PasswordLink {
        token: "rgl_good".to_owned(),
        expires_at,
    }
}

pub(super) fn create_link(
    request: &Request<CreatePasswordLinkRequest>,
) -> Result<PasswordLink, Status> {
    require_admin(request)?;
    let user_id = request.get_ref().user_id;
    if person(request)?.id == user_id {
        return Err(error(Reason::OwnPassword, ""));
    }
    user_of_id(user_id).map(|_| link())
}

pub(super) fn redeem_link(request: &RedeemPasswordLinkRequest) -> Result<(), Status> {
    match (request.token.as_str(), request.password.as_str()) {
        ("flood", _) => Err(error(Reason::TooManyAttempts, "")),
        ("rgl_good", "") => Err(error(Reason::PasswordInvalid, "Password must be longer.")),
        ("rgl_good", _) => Ok(()),
        _ => Err(error(Reason::LinkInvalid, "")),
    }
}

pub(super) fn find_link(
    request: &GetPasswordLinkRequest,
) -> Result<GetPasswordLinkResponse, Status> {
    match request.token.as_str() {
        "flood" => Err(error(Reason::TooManyAttempts, "")),
        "rgl_good" => Ok(GetPasswordLinkResponse {
            username: "ann".to_owned(),
            expires_at: link().expires_at,
        }),
        _ => Err(error(Reason::LinkInvalid, "")),
    }
}
