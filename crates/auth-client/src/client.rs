//! The calls of `rolegate.auth.v1.AuthService`, typed. Those about other users stand in `users`.

use crate::{
    CallContext, CallError, Reason, Requirement, User,
    authorizations::Authorizations,
    call_context::write_actor,
    connection::Stream,
    deadline::{PASSWORD, within},
    place::Named,
    replicas::Replicas,
};
use auth_proto::auth_v1;
use grpc_tls::ClientTls;
use http::Uri;
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
}

/// The address of auth-service is not a URL that gRPC can use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a URL with host and port, such as {scheme}://auth-service:50051")]
pub struct InvalidAddress {
    scheme: &'static str,
}

impl AuthClient {
    /// A client of the auth-service at `address`, such as `http://auth-service:50051`, not encrypted.
    /// Begins to connect at once, in the background. Calls are balanced over every replica that the
    /// name resolves to, now and later.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn at(address: &str) -> Result<Self, InvalidAddress> {
        named(address, "http").map(|place| Self::with(Replicas::of(place)))
    }

    /// The same, encrypted, at an address such as `https://auth-service:50051`. Every replica must
    /// prove to be the host of the address.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn at_over_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        let place = named(address, "https")?;
        Ok(Self::with(Replicas::of(Named { tls: Some(tls), ..place })))
    }

    /// A client of the one auth-service at the far end of whatever `dial` opens: in this process, or
    /// over a stream of the caller's own making.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn over<F>(dial: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
    {
        let origin = Uri::from_static("http://auth-service");
        Self::with(Replicas::one(Arc::new(move || Box::pin(dial())), origin))
    }

    fn with(replicas: Replicas) -> Self {
        let authorizations = Authorizations::new(replicas.clone());
        Self(Arc::new(Parts { replicas, authorizations }))
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
    pub fn observe_batches(&self, observer: impl Fn(usize) + Send + Sync + 'static) {
        self.0.authorizations.observe(Box::new(observer));
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

fn named(address: &str, scheme: &'static str) -> Result<Named, InvalidAddress> {
    let invalid = || InvalidAddress { scheme };
    let origin: Uri = address.parse().map_err(|_| invalid())?;
    let host = origin.host().filter(|host| !host.is_empty()).ok_or_else(invalid)?;
    let has_user = origin.authority().is_some_and(|authority| authority.as_str().contains('@'));
    let has_path = origin.path_and_query().is_some_and(|path| path != "/");
    if origin.scheme_str() != Some(scheme) || has_user || has_path {
        return Err(invalid());
    }
    // An IPv6 address stands in brackets in a URL, and without them everywhere else.
    let host = host.trim_start_matches('[').trim_end_matches(']').into();
    let port = origin.port_u16().ok_or_else(invalid)?;
    Ok(Named { host, port, origin, tls: None })
}

fn with_context<M>(message: M, context: CallContext) -> Request<M> {
    let mut request = Request::new(message);
    context.write(&mut request);
    request
}

fn with_actor<M>(
    message: M,
    actor: &SecretString,
    context: CallContext,
) -> Result<Request<M>, CallError> {
    let mut request = with_context(message, context);
    if write_actor(actor, &mut request) {
        Ok(request)
    } else {
        Err(CallError::refused_here(Reason::TokenInvalid))
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn an_address_is_a_plain_url_with_a_host() {
        for (scheme, other) in [("http", "https"), ("https", "http")] {
            for (good, host) in [("auth-service:50051", "auth-service"), ("[::1]:1", "::1")] {
                let place = named(&format!("{scheme}://{good}"), scheme).expect(good);
                assert_eq!(&*place.host, host);
            }
            for wrong in ["auth", "", "auth:1/path", "me:secret@auth:1"] {
                let error = named(&format!("{scheme}://{wrong}"), scheme).expect_err(wrong);
                assert!(error.to_string().contains(&format!("such as {scheme}://")), "{error}");
            }
            for wrong in ["", "auth:1", "ftp://auth:1", &format!("{other}://auth:1")] {
                assert!(named(wrong, scheme).is_err(), "{wrong}");
            }
        }
    }
}
