//! `CreateApiKey`.

use super::{AuthGrpc, RpcResult};
use crate::accounts::ApiKeyRequest;
use rolegate_grpc_server::actor;
use rolegate_proto::{
    Role,
    auth_v1::{CreateApiKeyRequest, CreateApiKeyResponse},
};
use secrecy::ExposeSecret as _;
use tonic::{Request, Response};

pub(super) async fn call(
    service: &AuthGrpc,
    request: Request<CreateApiKeyRequest>,
) -> RpcResult<CreateApiKeyResponse> {
    let (metadata, _, CreateApiKeyRequest { name, role, expires_at }) = request.into_parts();
    let request = ApiKeyRequest {
        name,
        role: role.map(|role| Role::try_from(role).ok()),
        expires_at: expires_at.map(|time| time.seconds),
    };
    let (key, api_key) = service.accounts.create_api_key(actor::token(&metadata), request).await?;
    let key = key.expose_secret().to_owned();
    Ok(Response::new(CreateApiKeyResponse { key, api_key: Some(api_key.into()) }))
}
