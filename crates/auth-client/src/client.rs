//! The client of auth-service, and its calls that need no actor.
//!
//! This file has the construction of the client, checks of credentials and lookups of usernames. `decisions` has
//! role decisions, `sign_in` has registration, logins and sessions, and `password_links` has what a person with a
//! password link can do.

mod decisions;
mod password_links;
mod sign_in;

#[cfg(feature = "program")]
pub use decisions::DECISIONS;
pub use sign_in::{NewSession, SessionUse, SignInStep, TwoStepSignIn};

use crate::{
    acting_client::ActingClient,
    connections::Connections,
    credential_checks::{AcceptedPassword, CredentialChecks},
    requirement::Requirement,
    user::User,
    user_changes::{UserWatcher, watch_users},
    usernames::{UsernameBatcher, get_usernames, username_batcher},
};
use rolegate_grpc_client::{
    BalancedChannel, CallBatcher, CallContext, CallError, Client, ClientTls, InvalidAddress,
    ServiceInfo,
};
use rolegate_proto::{Role, SERVICE_NAME, auth_v1::AuthorizeRequest};
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
    /// Collects concurrent decisions into calls. Each one gets the user, or the error that says why it was refused.
    decisions: CallBatcher<AuthorizeRequest, User>,
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
                decisions: Self::decision_batcher(connections.client.clone()),
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
        let requirement = Requirement::Roles(roles);
        self.verify_credentials_for(username, password, accept, requirement, context)
            .await
    }

    /// Checks a username and a password as [`Self::verify_credentials`] does. The caller compares the user's role and
    /// groups with the requirement.
    pub async fn verify_credentials_for(
        &self,
        username: &str,
        password: &SecretString,
        accept: AcceptedPassword,
        requirement: Requirement<'_>,
        context: CallContext,
    ) -> Result<User, CallError> {
        self.shared
            .credential_checks
            .verify(username, password, accept, requirement, context)
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
