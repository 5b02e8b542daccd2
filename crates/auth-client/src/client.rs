//! The calls of `rolegate.auth.v1.AuthService`, typed. Those about other users stand in `users`.

use crate::{
    CallContext, CallError, Requirement, User,
    authorizations::Authorizations,
    call_context::with_actor,
    connection::Stream,
    deadline::{PASSWORD, within},
    place::InvalidAddress,
    replicas::Replicas,
    usernames::Usernames,
};
use rolegate_grpc_tls::ClientTls;
use rolegate_proto::auth_v1;
use secrecy::{ExposeSecret, SecretString};
use std::{io, sync::Arc};
use tonic::Request;

mod users;

pub use users::{UserPage, UserQuery};

/// A client of auth-service. Cheap to clone; clones share their connections and their batches.
#[derive(Clone, Debug)]
pub struct AuthClient(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    replicas: Replicas,
    authorizations: Authorizations,
    usernames: Usernames,
}

impl AuthClient {
    /// A client of the auth-service at `address`, such as `http://auth-service:50051`, not encrypted.
    /// Begins to connect at once, in the background. Calls are balanced over every replica that the
    /// name resolves to, now and later.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy(address: &str) -> Result<Self, InvalidAddress> {
        Replicas::connect_lazy(address).map(Self::with)
    }

    /// The same, encrypted, at an address such as `https://auth-service:50051`. Every replica must
    /// prove to be the host of the address.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect_lazy_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        Replicas::connect_lazy_tls(address, tls).map(Self::with)
    }

    /// A client of the one auth-service at the far end of whatever `dial` opens: in this process, or
    /// over a stream of the caller's own making.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn with_connector<F>(dial: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        Self::with(Replicas::with_connector(dial))
    }

    fn with(replicas: Replicas) -> Self {
        let authorizations = Authorizations::new(replicas.clone());
        let usernames = Usernames::new(replicas.clone());
        Self(Arc::new(Parts { replicas, authorizations, usernames }))
    }

    /// Creates a user with the role `user`.
    pub async fn register(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let message = auth_v1::RegisterRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
        };
        let request = with_context(message, context);
        let answer = within(PASSWORD, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.register(request).await
        })
        .await?;
        User::required(answer.user)
    }

    /// Checks a username and a password and issues an access token.
    pub async fn login(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<(SecretString, User), CallError> {
        let message = auth_v1::LoginRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
        };
        let request = with_context(message, context);
        let answer = within(PASSWORD, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.login(request).await
        })
        .await?;
        Ok((SecretString::from(answer.access_token), User::required(answer.user)?))
    }

    /// Checks a username and a password, for HTTP Basic (RFC 7617).
    pub async fn verify_credentials(
        &self,
        username: &str,
        password: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let message = auth_v1::VerifyCredentialsRequest {
            username: username.to_owned(),
            password: password.expose_secret().to_owned(),
        };
        let request = with_context(message, context);
        let answer = within(PASSWORD, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.verify_credentials(request).await
        })
        .await?;
        User::required(answer.user)
    }

    /// Decides whether the bearer of an access token may pass, by a role that was stored when this
    /// was asked or later. Concurrent decisions share calls, which carry the ids of all the requests
    /// and no client address.
    pub async fn authorize(
        &self,
        access_token: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        self.0.authorizations.authorize(access_token, requirement, context.request_id).await
    }

    /// Calls `observer` with the number of decisions in each call that is made for some; for whoever
    /// counts. The first observer stays.
    pub fn observe_decisions(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.authorizations.observe(observer);
    }

    /// The same for look-ups of one name. Those of several are a call of their own, which is not told.
    pub fn observe_usernames(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.usernames.observe(observer);
    }

    /// Replaces the password of the bearer of the access token, who must know the current one. Ends
    /// every token of theirs, this one included.
    pub async fn change_password(
        &self,
        access_token: &SecretString,
        current: &SecretString,
        new: &SecretString,
        context: CallContext,
    ) -> Result<User, CallError> {
        let message = auth_v1::ChangePasswordRequest {
            current_password: current.expose_secret().to_owned(),
            new_password: new.expose_secret().to_owned(),
        };
        let request = with_actor(message, access_token, context)?;
        let answer = within(PASSWORD, request, |request| async {
            let mut lease = self.0.replicas.lease().await?;
            lease.client.change_password(request).await
        })
        .await?;
        User::required(answer.user)
    }
}

fn with_context<M>(message: M, context: CallContext) -> Request<M> {
    let mut request = Request::new(message);
    context.inject(&mut request);
    request
}
