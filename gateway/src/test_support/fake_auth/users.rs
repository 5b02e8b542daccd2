//! The users of the fake, and its errors.

use rolegate_auth_client::Reason;
use rolegate_proto::{
    ERROR_DOMAIN, Role,
    auth_v1::{AuthorizeRequest, User, authorize_request::Requirement},
};
use std::{collections::HashMap, time::Duration};
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt};

pub(super) fn error(reason: Reason, message: &str) -> Status {
    let mut details =
        ErrorDetails::with_error_info(reason.as_str(), ERROR_DOMAIN, HashMap::default());
    details.set_retry_info(Some(Duration::from_secs(7)));
    Status::with_error_details(reason.code(), message, details)
}

pub(super) fn user_of_token(token: &str) -> Result<User, Reason> {
    match token {
        "user" => Ok(user(1, token, Role::USER)),
        "author" => Ok(user(2, token, Role::AUTHOR)),
        "admin" => Ok(user(3, token, Role::ADMIN)),
        "rgk_user" => Ok(user(1, "user", Role::USER)),
        "deleted" => Err(Reason::TokenUserNotFound),
        _ => Err(Reason::TokenInvalid),
    }
}

pub(super) fn authorize(item: AuthorizeRequest) -> Result<User, Reason> {
    let user = user_of_token(&item.access_token)?;
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
    User { id, username: username.to_owned(), role, role_name, ..User::default() }
}

pub(super) fn user_of_id(id: i64) -> Result<User, Status> {
    match id {
        1 => Ok(user(1, "user", Role::USER)),
        2 => Ok(user(2, "author", Role::AUTHOR)),
        3 => Ok(user(3, "admin", Role::ADMIN)),
        _ => Err(error(Reason::UserNotFound, "")),
    }
}
