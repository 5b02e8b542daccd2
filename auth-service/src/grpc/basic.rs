//! A batch of credentials of HTTP Basic.

use super::{AuthGrpc, authorize::roles, message};
use crate::{
    accounts::{AccountError, BasicCheck},
    call_origin::CallOrigin,
    metrics,
};
use rolegate_grpc_server::is_trusted_caller;
use rolegate_proto::{
    auth_v1::{
        BatchVerifyCredentialsResponse, VerifyCredentialsRequest, VerifyCredentialsResponse,
    },
    limits::MAX_CREDENTIALS_BATCH,
};
use tonic::Extensions;

impl AuthGrpc {
    /// The users of the credentials that are remembered, in the order of the items.
    pub(super) async fn recall(
        &self,
        items: Vec<VerifyCredentialsRequest>,
        call: &Extensions,
        origin: CallOrigin,
    ) -> Result<BatchVerifyCredentialsResponse, AccountError> {
        if items.len() > MAX_CREDENTIALS_BATCH {
            return Err(AccountError::request("a batch has at most 256 items"));
        }
        // A stranger could guess what is remembered, and no guess would count.
        let is_trusted = is_trusted_caller(call, &self.trusted);
        let check = |item: VerifyCredentialsRequest| {
            // An unknown role is an error after the check of the credentials.
            let roles = roles(&item.role_names).ok().filter(|_| is_trusted)?;
            self.accounts.expect_known(&roles).ok()?;
            let reported = item.client_address.and_then(|address| address.parse().ok());
            let origin =
                CallOrigin { client_address: reported.or(origin.client_address), ..origin };
            Some(BasicCheck { username: item.username, password: item.password.into(), origin })
        };
        let recalled = self.accounts.recall(items.into_iter().map(check).collect()).await?;
        let outcomes = recalled.into_iter().map(|recalled| {
            let user = recalled.map(|(user, unknown_role)| {
                metrics::login("basic", None);
                message::decided(user, unknown_role)
            });
            VerifyCredentialsResponse { user }
        });
        Ok(BatchVerifyCredentialsResponse { outcomes: outcomes.collect() })
    }
}
