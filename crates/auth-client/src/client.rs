//! The typed calls of `rolegate.auth.v1.AuthService`. Calls about other users are in `users`.

use crate::{
    Requirement, User, authorize_batcher::AuthorizeBatcher, username_batcher::UsernameBatcher,
};
use rolegate_grpc_client::{
    BalancedChannel, CallContext, CallError, ClientTls, InvalidAddress, PASSWORD_TIMEOUT,
    ServiceInfo, Stream, authenticated_request, call_with_timeout,
};
use rolegate_proto::auth_v1::{
    ChangePasswordRequest, LoginRequest, RegisterRequest, VerifyCredentialsRequest,
    auth_service_client::AuthServiceClient, auth_service_server::SERVICE_NAME,
};
use secrecy::{ExposeSecret, SecretString};
use std::{io, sync::Arc};

mod users;

pub use users::{UserPage, UserQuery};

const SERVICE: ServiceInfo =
    ServiceInfo { program: "auth-service", default_port: 50051, health_name: SERVICE_NAME };

/// A client of auth-service. Clones are cheap and share connections and batches.
#[derive(Clone, Debug)]
pub struct AuthClient(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    client: AuthServiceClient<BalancedChannel>,
    authorize_batcher: AuthorizeBatcher,
    username_batcher: UsernameBatcher,
}

impl AuthClient {
    /// A client of every replica behind `address`, such as `http://auth-service:50051`, in plain text.
    /// Connects in the background.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy(address: &str) -> Result<Self, InvalidAddress> {
        BalancedChannel::connect_lazy(SERVICE, address).map(Self::new)
    }

    /// Like [`AuthClient::connect_lazy`], with TLS, for an address such as
    /// `https://auth-service:50051`. The certificate of every replica must be for that host.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        BalancedChannel::connect_lazy_tls(SERVICE, address, tls).map(Self::new)
    }

    /// A client of one auth-service over the streams that `connector` opens, for example within a
    /// process.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn with_connector<F>(connector: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        Self::new(BalancedChannel::with_connector(SERVICE, connector))
    }

    fn new(channel: BalancedChannel) -> Self {
        let client = AuthServiceClient::new(channel);
        let authorize_batcher = AuthorizeBatcher::new(client.clone());
        let username_batcher = UsernameBatcher::new(client.clone());
        Self(Arc::new(Parts { client, authorize_batcher, username_batcher }))
    }

    fn client(&self) -> AuthServiceClient<BalancedChannel> {
        self.0.client.clone()
    }

    /// Creates a user with the role `user`.
    pub async fn register(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let (username, password) = (username.to_owned(), password.expose_secret().to_owned());
        let request = context.request(RegisterRequest { username, password });
        let mut client = self.client();
        let response =
            call_with_timeout(PASSWORD_TIMEOUT, request, |request| client.register(request))
                .await?;
        User::try_from_response(response.user)
    }

    /// Checks a username and a password and issues an access token.
    pub async fn login(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<(SecretString, User), CallError> {
        let (username, password) = (username.to_owned(), password.expose_secret().to_owned());
        let request = context.request(LoginRequest { username, password });
        let mut client = self.client();
        let response =
            call_with_timeout(PASSWORD_TIMEOUT, request, |request| client.login(request)).await?;
        let user = User::try_from_response(response.user)?;
        Ok((response.access_token.into(), user))
    }

    /// Checks a username and a password, for HTTP Basic (RFC 7617).
    pub async fn verify_credentials(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let (username, password) = (username.to_owned(), password.expose_secret().to_owned());
        let request = context.request(VerifyCredentialsRequest { username, password });
        let mut client = self.client();
        let response = call_with_timeout(PASSWORD_TIMEOUT, request, |request| {
            client.verify_credentials(request)
        })
        .await?;
        User::try_from_response(response.user)
    }

    /// Decides whether the bearer of an access token meets a requirement, by the role stored now.
    /// Concurrent decisions share calls, which carry all request ids and no client address.
    pub async fn authorize(
        &self,
        access_token: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        self.0.authorize_batcher.authorize(access_token, requirement, context.request_id).await
    }

    /// Calls `observer` with the number of decisions in each call, for metrics. Only the first observer
    /// is kept.
    pub fn observe_decisions(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.authorize_batcher.observe(observer);
    }

    /// The same for lookups of one username each. Lookups of several are not batched further and not
    /// observed.
    pub fn observe_usernames(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.username_batcher.observe(observer);
    }

    /// Replaces the password of the bearer of `access_token`, given the current one, and revokes all
    /// of the user's tokens.
    pub async fn change_password(
        &self,
        access_token: &SecretString,
        current: &SecretString,
        new: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let message = ChangePasswordRequest {
            current_password: current.expose_secret().to_owned(),
            new_password: new.expose_secret().to_owned(),
        };
        let request = authenticated_request(message, access_token, context)?;
        let mut client = self.client();
        let response =
            call_with_timeout(PASSWORD_TIMEOUT, request, |request| client.change_password(request))
                .await?;
        User::try_from_response(response.user)
    }
}
