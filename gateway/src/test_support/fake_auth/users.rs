//! Keeps the users of the fake, and makes its errors.

use rolegate_auth_client::Reason;
use rolegate_proto::{
    ERROR_DOMAIN, Role,
    auth_v1::{AuthorizeRequest, User, authorize_request::Requirement},
    metadata,
};
use std::{collections::HashMap, time::Duration};
use tonic::{Request, Status};
use tonic_types::{ErrorDetails, StatusExt};

pub(super) fn error(reason: Reason, message: &str) -> Status {
    let mut details =
        ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::default());
    details.set_retry_info(Some(Duration::from_secs(7)));
    Status::with_error_details(reason.code(), message, details)
}

pub(super) fn require_admin<M>(request: &Request<M>) -> Result<(), Status> {
    let header = request.metadata().get(metadata::AUTHORIZATION);
    match header.and_then(|header| header.to_str().ok()) {
        Some("Bearer admin" | "Bearer rgs_admin" | "Bearer rgk_admin") => Ok(()),
        _ => Err(error(Reason::RoleInsufficient, "")),
    }
}

pub(super) fn verify(username: &str, password: &str) -> Result<User, Status> {
    match (username, password) {
        ("down", _) => Err(Status::unavailable("down")),
        ("flood", _) => Err(error(Reason::TooManyAttempts, "")),
        ("", _) => Err(error(Reason::CredentialsInvalid, "")),
        // This user is an admin, but lacks the second factor that admins need.
        ("withheld", "right") => {
            let unknown_role_name = Role::ADMIN.to_string();
            Ok(User {
                unknown_role_name,
                ..user(1, username, Role::USER)
            })
        }
        (_, "right" | "ri:ght:") => Ok(user(1, username, Role::USER)),
        _ => Err(error(Reason::CredentialsInvalid, "")),
    }
}

pub(super) fn user_of_token(token: &str) -> Result<User, Reason> {
    match token {
        "user" => Ok(user(1, token, Role::USER)),
        "author" => Ok(user(2, token, Role::AUTHOR)),
        "admin" => Ok(user(3, token, Role::ADMIN)),
        "rgk_user" | "rgs_user" => Ok(user(1, "user", Role::USER)),
        "rgk_admin" | "rgs_admin" => Ok(user(3, "admin", Role::ADMIN)),
        "deleted" => Err(Reason::TokenUserNotFound),
        "rgs_down" => Err(Reason::Overloaded),
        _ => Err(Reason::TokenInvalid),
    }
}

/// Returns a role that the fake has.
pub(super) fn role(name: &str) -> Result<Role, Status> {
    let is_known = ["user", "author", "admin", "editor"].contains(&name);
    let role = name.parse().ok().filter(|_| is_known);
    role.ok_or_else(|| error(Reason::RoleInvalid, ""))
}

/// Refuses a requirement with a role that the fake does not have.
pub(super) fn expect_roles(names: &[String]) -> Result<(), Reason> {
    let is_known = names.iter().all(|name| role(name).is_ok());
    if is_known {
        Ok(())
    } else {
        Err(Reason::RequestInvalid)
    }
}

pub(super) fn authorize(item: AuthorizeRequest) -> Result<User, Reason> {
    let token = item.access_token.replacen("rgd_", "rgs_", 1);
    let is_session = token.starts_with("rgs_");
    let is_for_domain = token != item.access_token;
    let may_be_here = if item.from_cookie {
        is_session
    } else {
        !is_for_domain
    };
    let user = user_of_token(if may_be_here { &token } else { "" })?;
    if let Some(Requirement::Roles(allowed)) = &item.requirement {
        expect_roles(&allowed.role_names)?;
    }
    match item.requirement {
        Some(Requirement::AnyAuthenticated(_)) => Ok(user),
        Some(Requirement::Roles(allowed)) if allowed.role_names.contains(&user.role_name) => {
            Ok(user)
        }
        Some(Requirement::Roles(_)) => Err(Reason::RoleInsufficient),
        None => Err(Reason::RequestInvalid),
    }
}

pub(super) fn user(id: i64, username: &str, role: Role) -> User {
    let (role, role_name) = (role.response_number(), role.to_string());
    User {
        id,
        username: username.to_owned(),
        role,
        role_name,
        ..User::default()
    }
}

pub(super) fn user_of_id(id: i64) -> Result<User, Status> {
    match id {
        1 => Ok(user(1, "user", Role::USER)),
        2 => Ok(user(2, "author", Role::AUTHOR)),
        3 => Ok(user(3, "admin", Role::ADMIN)),
        _ => Err(error(Reason::UserNotFound, "")),
    }
}
