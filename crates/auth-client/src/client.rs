//! The typed calls of `rolegate.auth.v1.AuthService`. Calls about other users are in `users`.

use crate::{
    Requirement, User,
    authorize_batcher::{authorize_batcher, authorize_request},
    username_batcher::username_batcher,
};
use rolegate_grpc_client::{
    BalancedChannel, CallBatcher, CallContext, CallError, ClientTls, InvalidAddress,
    PASSWORD_TIMEOUT, ServiceInfo, authenticated_request, call_with_timeout,
};
use rolegate_proto::auth_v1::{
    AuthorizeRequest, ChangePasswordRequest, LoginRequest, RegisterRequest,
    VerifyCredentialsRequest, auth_service_client::AuthServiceClient,
    auth_service_server::SERVICE_NAME,
};
use secrecy::{ExposeSecret, SecretString};
use std::sync::Arc;

mod users;

pub use users::{UserPage, UserQuery};

/// A client of auth-service. Clones are cheap and share connections and batches.
#[derive(Clone, Debug)]
pub struct AuthClient(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    client: AuthServiceClient<BalancedChannel>,
    decisions: CallBatcher<AuthorizeRequest, User>,
    usernames: CallBatcher<i64, Option<String>>,
}

impl AuthClient {
    /// The service that this client calls.
    pub const SERVICE: ServiceInfo =
        ServiceInfo { program: "auth-service", default_port: 50051, health_name: SERVICE_NAME };

    /// A client of every replica behind `address`, such as `http://auth-service:50051`, in plain text.
    /// Connects in the background.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy(address: &str) -> Result<Self, InvalidAddress> {
        BalancedChannel::connect_lazy(Self::SERVICE, address).map(Self::new)
    }

    /// Like [`AuthClient::connect_lazy`], with TLS, for an address such as
    /// `https://auth-service:50051`. The certificate of every replica must be for that host.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        BalancedChannel::connect_lazy_tls(Self::SERVICE, address, tls).map(Self::new)
    }

    /// A client over a channel to [`AuthClient::SERVICE`].
    #[must_use]
    pub fn new(channel: BalancedChannel) -> Self {
        let client = AuthServiceClient::new(channel);
        let decisions = authorize_batcher(client.clone());
        let usernames = username_batcher(client.clone());
        Self(Arc::new(Parts { client, decisions, usernames }))
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
        let request = authorize_request(access_token, requirement)?;
        self.0.decisions.submit(request, context.request_id).await
    }

    /// Calls `observer` with the number of decisions in each call, for metrics. Only the first observer
    /// is kept.
    pub fn observe_decisions(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.decisions.observe(observer);
    }

    /// The same for lookups of one username each. Lookups of several are not batched further and not
    /// observed.
    pub fn observe_usernames(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.usernames.observe(observer);
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
