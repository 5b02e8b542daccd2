//! The calls that register users, verify passwords, and create sessions and access tokens.

use super::{AuthGrpc, RpcResult, authorize::parse_names};
use crate::{
    accounts::{
        AccountError, BasicCredentials, Requirement, SessionOutcome, SessionRequest, SessionUse,
    },
    call_origin::CallOrigin,
    metrics,
};
use rolegate_grpc_server::Call;
use rolegate_proto::{Reason, auth_v1 as wire, limits::MAX_CREDENTIALS_BATCH};
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;

impl AuthGrpc {
    pub(super) async fn register(
        self: Arc<Self>,
        call: Call,
        message: wire::RegisterRequest,
    ) -> RpcResult<wire::RegisterResponse> {
        let user = self
            .services
            .users
            .register(
                &message.username,
                message.password.into(),
                CallOrigin::from(&call),
            )
            .await?;
        Ok(user.into())
    }

    pub(super) async fn login(
        self: Arc<Self>,
        call: Call,
        message: wire::LoginRequest,
    ) -> RpcResult<wire::LoginResponse> {
        let password = message.password.into();
        let otp = message.otp.as_deref();
        let outcome = self
            .services
            .authenticator
            .login(&message.username, password, otp, CallOrigin::from(&call))
            .await;
        metrics::count_login("login", outcome.as_ref().err().map(AccountError::reason));
        let issued = outcome?;
        Ok(wire::LoginResponse {
            access_token: issued.access_token.expose_secret().to_owned(),
            user: Some(issued.user.into()),
        })
    }

    pub(super) async fn verify_credentials(
        self: Arc<Self>,
        call: Call,
        message: wire::VerifyCredentialsRequest,
    ) -> RpcResult<wire::VerifyCredentialsResponse> {
        // A malformed requirement is reported only after the credentials were checked.
        let requirement = parse_names(&message.role_names, &message.group_names);
        let check = BasicCredentials {
            username: message.username,
            password: message.password.into(),
            accept_api_keys: message.accept_api_keys,
            requirement: match &requirement {
                Ok(requirement) => requirement.clone(),
                Err(_) => Requirement::AnyAuthenticated,
            },
            origin: CallOrigin::from(&call),
        };
        let user = self
            .services
            .authenticator
            .verify_credentials(check)
            .await?;
        requirement?;
        Ok(wire::VerifyCredentialsResponse {
            user: Some(user.into()),
        })
    }

    /// Verifies the items whose password is cached or is an API key, and returns one outcome for each item, in
    /// the same order. The other items get no user, and the caller sends each of them as `VerifyCredentials`. A
    /// caller outside of the trusted networks gets no user for any item.
    pub(super) async fn batch_verify_credentials(
        self: Arc<Self>,
        call: Call,
        message: wire::BatchVerifyCredentialsRequest,
    ) -> RpcResult<wire::BatchVerifyCredentialsResponse> {
        if message.items.len() > MAX_CREDENTIALS_BATCH {
            return Err(AccountError::invalid_request(
                "a batch has at most 256 items",
            ));
        }
        // Untrusted callers get no answer, because they could guess cached passwords here without a failed
        // login.
        let is_trusted = call.is_trusted();
        let origin = CallOrigin::from(&call);
        let checks = message
            .items
            .into_iter()
            .map(|item| {
                if is_trusted {
                    basic_credentials(item, origin)
                } else {
                    None
                }
            })
            .collect();
        let recalled = self.services.authenticator.recall(checks).await?;
        let outcomes = recalled
            .into_iter()
            .map(|user| wire::VerifyCredentialsResponse {
                user: user.map(Into::into),
            })
            .collect();
        Ok(wire::BatchVerifyCredentialsResponse { outcomes })
    }

    pub(super) async fn create_session(
        self: Arc<Self>,
        call: Call,
        message: wire::CreateSessionRequest,
    ) -> RpcResult<wire::CreateSessionResponse> {
        let outcome = self.new_session(message, CallOrigin::from(&call)).await;
        let reason = match &outcome {
            Ok(created) => created
                .pending_sign_in
                .as_ref()
                .map(|_| Reason::OtpRequired),
            Err(error) => Some(error.reason()),
        };
        metrics::count_login("session", reason);
        outcome
    }

    /// Creates a session if the password is correct, or begins a sign-in that waits for the second factor.
    async fn new_session(
        &self,
        message: wire::CreateSessionRequest,
        origin: CallOrigin,
    ) -> RpcResult<wire::CreateSessionResponse> {
        let session_use = match (
            message.for_domain,
            message.for_application,
            message.with_application,
        ) {
            (false, false, false) => SessionUse::Api,
            (true, false, false) => SessionUse::Domain,
            (false, true, false) => SessionUse::Application,
            (false, false, true) => SessionUse::ApiAndApplication,
            (true, false, true) => SessionUse::ApiAndDomain,
            _ => {
                return Err(AccountError::invalid_request(
                    "for_application cannot be combined with for_domain or with_application",
                ));
            }
        };
        let new = SessionRequest {
            name: message.name,
            user_agent: message.user_agent,
            session_use,
            place: message.place,
            pending: message.pending_sign_in,
        };
        let password = message.password.into();
        let otp = message.otp.as_deref();
        let outcome = self
            .services
            .authenticator
            .create_session(&message.username, password, new, otp, origin)
            .await?;
        let exposed = |token: SecretString| token.expose_secret().to_owned();
        let created = match outcome {
            SessionOutcome::Created(created) => created,
            SessionOutcome::CodeRequired { pending_sign_in } => {
                return Ok(wire::CreateSessionResponse {
                    pending_sign_in: Some(exposed(pending_sign_in)),
                    ..wire::CreateSessionResponse::default()
                });
            }
        };
        let id = created.session.id;
        Ok(wire::CreateSessionResponse {
            token: exposed(created.token),
            session: Some(self.session_message(created.session, Some(id))),
            user: Some(created.user.into()),
            application_token: created.application_token.map(exposed),
            pending_sign_in: None,
        })
    }
}

/// Reads the credentials of an item of a batch, with the client address that it reports. Returns `None` if the
/// item has a malformed name of a role or group: `VerifyCredentials` reports that error after it has checked the
/// credentials.
fn basic_credentials(
    item: wire::VerifyCredentialsRequest,
    origin: CallOrigin,
) -> Option<BasicCredentials> {
    let reported = item.client_address.and_then(|address| address.parse().ok());
    Some(BasicCredentials {
        username: item.username,
        password: item.password.into(),
        accept_api_keys: item.accept_api_keys,
        requirement: parse_names(&item.role_names, &item.group_names).ok()?,
        origin: CallOrigin {
            client_address: reported.or(origin.client_address),
            ..origin
        },
    })
}
