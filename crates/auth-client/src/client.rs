//! The client of auth-service, and its calls that need no actor.
//!
//! This file has the construction of the client, role decisions and checks of credentials. `sign_in` has
//! registration, logins and sessions, and `password_links` has what a person with a password link can do.

mod password_links;
mod sign_in;

pub use sign_in::{NewSession, SessionUse, SignInStep, TwoStepSignIn};

use crate::{
    acting_client::ActingClient,
    connections::{Client, Connections},
    credential_checks::{AcceptedPassword, CredentialChecks},
    decisions::{DecisionBatcher, Requirement, authorize_request, decision_batcher},
    user::User,
    user_changes::{UserWatcher, watch_users},
    usernames::{UsernameBatcher, get_usernames, username_batcher},
};
use rolegate_grpc_client::{
    BalancedChannel, CallContext, CallError, ClientTls, InvalidAddress, ServiceInfo,
};
use rolegate_proto::{Role, SERVICE_NAME};
use secrecy::SecretString;
use std::{collections::HashMap, convert::Infallible, sync::Arc};

/// A client of auth-service. Clones are cheap and share connections and batches.
#[derive(Clone, Debug)]
pub struct AuthClient {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    connections: Arc<Connections>,
    decisions: DecisionBatcher,
    usernames: UsernameBatcher,
    credential_checks: CredentialChecks,
}

impl AuthClient {
    /// The service that this client calls.
    pub const SERVICE: ServiceInfo = ServiceInfo {
        program: "auth-service",
        default_port: 50051,
        health_name: SERVICE_NAME,
    };

    /// Creates a client that calls every replica behind `address`, such as `http://auth-service:50051`, in
    /// plain text. It connects in the background and needs a tokio runtime.
    pub fn connect_lazy(address: &str) -> Result<Self, InvalidAddress> {
        let channel = || BalancedChannel::connect_lazy(Self::SERVICE, address, None);
        Ok(Self::new(channel()?, channel()?))
    }

    /// Creates a client like [`AuthClient::connect_lazy`], but with TLS, for an address such as
    /// `https://auth-service:50051`. The certificate of every replica must be valid for that host.
    pub fn connect_lazy_tls(address: &str, tls: ClientTls) -> Result<Self, InvalidAddress> {
        let channel = |tls| BalancedChannel::connect_lazy(Self::SERVICE, address, Some(tls));
        Ok(Self::new(channel(tls.clone())?, channel(tls)?))
    }

    /// Creates a client from two channels to [`AuthClient::SERVICE`]. The second one is for calls that hash a
    /// password.
    #[must_use]
    pub fn new(channel: BalancedChannel, passwords: BalancedChannel) -> Self {
        let connections = Arc::new(Connections {
            client: Client::new(channel),
            passwords,
        });
        Self {
            shared: Arc::new(Shared {
                decisions: decision_batcher(connections.client.clone()),
                usernames: username_batcher(connections.client.clone()),
                credential_checks: CredentialChecks::new(Arc::clone(&connections)),
                connections,
            }),
        }
    }

    /// Returns a client for calls on behalf of the bearer of `token`.
    #[must_use]
    pub fn acting_for(self, token: SecretString, context: CallContext) -> ActingClient {
        ActingClient {
            connections: Arc::clone(&self.shared.connections),
            token,
            context,
        }
    }

    /// Asks auth-service whether the bearer of an access token, session or API key meets a requirement. Returns
    /// the user if so, and an error otherwise. The decision uses the role that is stored now.
    ///
    /// Concurrent decisions share calls. A call carries the request ids of all its decisions. The client address
    /// is sent only with an API key.
    pub async fn authorize(
        &self,
        access_token: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let request = authorize_request(access_token, requirement, context.client_address)?;
        self.shared
            .decisions
            .submit(request, context.request_id)
            .await
    }

    /// Decides as [`Self::authorize`] does, but about a session from a cookie of the sign-in page. No other
    /// kind of token is accepted.
    pub async fn authorize_cookie(
        &self,
        session: &SecretString,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        let mut request = authorize_request(session, requirement, context.client_address)?;
        request.from_cookie = true;
        self.shared
            .decisions
            .submit(request, context.request_id)
            .await
    }

    /// Checks a username and a password, for HTTP Basic (RFC 7617), and returns the user. The caller compares the
    /// user's role with `roles`. auth-service gets `roles` only so that it can refuse a role that does not exist.
    ///
    /// Concurrent checks of credentials that auth-service has in its cache share calls.
    pub async fn verify_credentials(
        &self,
        username: &str,
        password: &SecretString,
        accept: AcceptedPassword,
        roles: &[Role],
        context: CallContext,
    ) -> Result<User, CallError> {
        self.shared
            .credential_checks
            .verify(username, password, accept, roles, context)
            .await
    }

    /// Returns usernames by id, without ids that do not exist. No actor is needed, because services show
    /// usernames to everybody. Concurrent lookups of single ids share calls; a lookup of several ids shares none.
    pub async fn get_usernames(
        &self,
        ids: &[i64],
        context: CallContext,
    ) -> Result<HashMap<i64, String>, CallError> {
        let &[id] = ids else {
            let client = &self.shared.connections.client;
            return get_usernames(client, ids, context.request_id).await;
        };
        let username = self.shared.usernames.submit(id, context.request_id).await?;
        Ok(username
            .into_iter()
            .map(|username| (id, username))
            .collect())
    }

    /// Streams the changes of users to `watcher` until this future is dropped. It reconnects after
    /// interruptions.
    pub async fn watch_users(&self, watcher: &mut impl UserWatcher) -> Infallible {
        watch_users(&self.shared.connections.client, watcher).await
    }

    /// Revokes all sessions in the cookies that a browser sent to the sign-in page, whichever users they belong
    /// to. Values that are not valid sessions are skipped. After an error, some of the sessions may still be
    /// valid.
    ///
    /// If `with_pairs` is true and a sign-in created two sessions, the other one is revoked as well.
    pub async fn end_cookie_sessions(
        &self,
        sessions: &[SecretString],
        with_pairs: bool,
        context: CallContext,
    ) -> Result<(), CallError> {
        let [first, others @ ..] = sessions else {
            return Ok(());
        };
        let acting_for = |session: &SecretString| self.clone().acting_for(session.clone(), context);
        if acting_for(first)
            .end_cookie_sessions(sessions, with_pairs)
            .await?
        {
            return Ok(());
        }
        // An auth-service of the previous release has revoked only the first session.
        for session in others {
            acting_for(session).end_cookie_sessions(&[], false).await?;
        }
        Ok(())
    }
}
