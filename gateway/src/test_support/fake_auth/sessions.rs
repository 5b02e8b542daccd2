//! Keeps the sessions of the fake: user 1 has the session 1, `rgs_user`.

use super::{
    api_keys::{target, token},
    second_factor::check_code,
    users::{error, user_of_token, verify},
};
use prost_types::Timestamp;
use rolegate_auth_client::Reason;
use rolegate_proto::auth_v1::{
    CreateSessionRequest, CreateSessionResponse, Credential, CredentialKind, DeleteSessionsRequest,
    DeleteSessionsResponse, GetCurrentUserRequest, GetCurrentUserResponse, ListSessionsRequest,
    ListSessionsResponse, Session, User, delete_sessions_request::Sessions,
};
use tonic::{Request, Status};

fn time(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0 }
}

fn sessions_of(user: &User, token: &str) -> Vec<Session> {
    let session = Session {
        id: 1,
        user_id: 1,
        client_address: Some("203.0.113.9".to_owned()),
        created_at: Some(time(1)),
        expires_at: Some(time(3)),
        idle_expires_at: Some(time(2)),
        current: token == "rgs_user",
        ..Session::default()
    };
    if user.id == 1 {
        vec![session]
    } else {
        Vec::new()
    }
}

pub(super) fn create(request: &CreateSessionRequest) -> Result<CreateSessionResponse, Status> {
    if request.name.as_deref() == Some("") {
        return Err(error(
            Reason::SessionInvalid,
            "Session name must be longer.",
        ));
    }
    let otp = request.otp.as_deref();
    // A pending sign-in belongs to the user `enrolled`, and is valid only at the origin in its token.
    let pending = format!("rgp_at_{}", request.place);
    let user = match &request.pending_sign_in {
        Some(sent) if *sent != pending => return Err(error(Reason::TokenInvalid, "")),
        Some(_) => verify("enrolled", "right")?,
        None => verify(&request.username, &request.password)?,
    };
    let is_page = request.pending_sign_in.is_none() && !request.place.is_empty();
    if is_page && user.username == "enrolled" && otp.is_none_or(str::is_empty) {
        return Ok(CreateSessionResponse {
            pending_sign_in: Some(pending),
            ..CreateSessionResponse::default()
        });
    }
    check_code(&user, otp)?;
    let session = sessions_of(&user, "").pop();
    // The previous release creates only one session.
    let makes_both = request.with_application && request.username != "before";
    let token = if request.for_domain && !makes_both {
        "rgd_user"
    } else {
        "rgs_user"
    };
    let application_token = if request.for_domain {
        "rgd_application"
    } else {
        "rgs_application"
    };
    Ok(CreateSessionResponse {
        token: token.to_owned(),
        session,
        user: Some(user),
        application_token: makes_both.then(|| application_token.to_owned()),
        pending_sign_in: None,
    })
}

pub(super) fn list(request: &Request<ListSessionsRequest>) -> Result<ListSessionsResponse, Status> {
    let user = target(request, request.get_ref().user_id)?;
    Ok(ListSessionsResponse {
        sessions: sessions_of(&user, token(request)),
    })
}

pub(super) fn delete(
    request: &Request<DeleteSessionsRequest>,
) -> Result<DeleteSessionsResponse, Status> {
    let DeleteSessionsRequest {
        user_id,
        sessions: selection,
    } = request.get_ref();
    let user = target(request, *user_id)?;
    if user_id.is_none() && token(request).starts_with("rgk_") {
        return Err(error(Reason::RoleInsufficient, ""));
    }
    let mut sessions = sessions_of(&user, token(request));
    match selection {
        Some(Sessions::SessionId(id)) => sessions.retain(|session| session.id == *id),
        Some(Sessions::All(_)) => return Ok(DeleteSessionsResponse { sessions }),
        None => return Err(error(Reason::RequestInvalid, "")),
    }
    if sessions.is_empty() {
        return Err(error(Reason::SessionNotFound, ""));
    }
    Ok(DeleteSessionsResponse { sessions })
}

pub(super) fn current_user(
    request: &Request<GetCurrentUserRequest>,
) -> Result<GetCurrentUserResponse, Status> {
    let token = token(request);
    let user = user_of_token(token).map_err(|reason| error(reason, ""))?;
    let (kind, expires_at) = match token.get(..4) {
        Some("rgs_") => (CredentialKind::Session, Some(time(3))),
        Some("rgk_") => (CredentialKind::ApiKey, None),
        _ => (CredentialKind::AccessToken, Some(time(2))),
    };
    let credential = Some(Credential {
        kind: kind.into(),
        expires_at,
    });
    Ok(GetCurrentUserResponse {
        user: Some(user),
        credential,
    })
}
