//! Authorizes many bearers with one statement for users and another for opaque tokens.

use super::{Authorizer, Credential, NOTHING_FOUND, TokenSource, admit, idle::IdleSessions};
use crate::{
    accounts::{error::AccountError, policy::Requirement},
    actor::Actor,
    store::DecisionKey,
    tokens::TokenBearer,
    user::User,
};
use rolegate_program::request_context::RequestContext;
use rolegate_sql_store::RowsByKey;
use std::net::IpAddr;

/// One request of a batch.
pub(crate) struct AuthorizationRequest {
    /// The access token, the session or the API key.
    pub(crate) credential: String,
    pub(crate) source: TokenSource,
    pub(crate) requirement: Requirement,
    /// The address of the end user, for the audit log; `None` if it is the client address of the
    /// call.
    pub(crate) client_address: Option<IpAddr>,
}

/// A request with its parsed credential.
struct ParsedRequest {
    request: AuthorizationRequest,
    credential: Credential,
}

/// The ids and digests by which the users and tokens of a batch are read.
#[derive(Default)]
struct BatchKeys {
    user_ids: Vec<DecisionKey<i64>>,
    digests: Vec<DecisionKey<String>>,
    /// The subset of `digests` whose tokens came in cookies but may also be valid as bearer tokens.
    digests_in_cookies: Vec<String>,
}

/// The rows that were read for a batch, and the sessions among them that were not used for too
/// long.
struct BatchRows {
    users: RowsByKey<i64, User>,
    tokens: RowsByKey<String, TokenBearer>,
    idle: IdleSessions,
}

impl Authorizer {
    /// Does the same as [`Self::authorize`] for many requests, and returns their outcomes in the
    /// order of the requests. It runs one query for users and one for opaque tokens, at the same
    /// time.
    ///
    /// A request that is already an `Err` keeps its error. The batch fails as a whole only if a
    /// query fails; an unreadable row fails only the requests that need it.
    pub(crate) async fn authorize_batch(
        &self,
        requests: Vec<Result<AuthorizationRequest, AccountError>>,
    ) -> Result<Vec<Result<Actor, AccountError>>, AccountError> {
        let mut keys = BatchKeys {
            user_ids: Vec::with_capacity(requests.len()),
            ..BatchKeys::default()
        };
        let parsed: Vec<Result<ParsedRequest, AccountError>> = requests
            .into_iter()
            .map(|request| self.parse_request(request?, &mut keys))
            .collect();
        let rows = self.read_batch(keys).await?;
        let mut outcomes = Vec::with_capacity(parsed.len());
        for request in parsed {
            outcomes.push(match request {
                Ok(parsed) => self.decide(parsed, &rows).await,
                Err(error) => Err(error),
            });
        }
        Ok(outcomes)
    }

    /// Parses the credential of a request, and adds the user id or the digest to read to `keys`.
    fn parse_request(
        &self,
        request: AuthorizationRequest,
        keys: &mut BatchKeys,
    ) -> Result<ParsedRequest, AccountError> {
        let credential = self.parse_credential(request.source, &request.credential)?;
        let requirement = &request.requirement;
        match &credential {
            Credential::AccessToken(token) => {
                let key = requirement.decision_key(token.user_id);
                keys.user_ids.push(key);
            }
            Credential::Opaque { token, digest } => {
                let key = digest
                    .clone()
                    .map(|digest| requirement.decision_key(digest));
                keys.digests.extend(key);
                if token.may_be_unrestricted() {
                    keys.digests_in_cookies.extend(digest.clone());
                }
            }
        }
        Ok(ParsedRequest {
            request,
            credential,
        })
    }

    /// Reads the users and the tokens of a batch, and ends the idle sessions among the tokens. Some
    /// sessions came in cookies, but are also valid as bearer tokens: a background task restricts
    /// them to cookies.
    async fn read_batch(&self, keys: BatchKeys) -> Result<BatchRows, AccountError> {
        let (users, tokens) = tokio::try_join!(
            self.reads.users.get_all(keys.user_ids),
            self.reads.tokens.get_all(keys.digests)
        )?;
        let found = tokens.value.values().flatten();
        let idle = self.end_idle_sessions(tokens.at, found).await;
        let in_cookies = keys
            .digests_in_cookies
            .iter()
            .filter_map(|digest| tokens.value.get(digest)?.as_ref().ok());
        let unrestricted = self.unrestricted_sessions(tokens.at, in_cookies);
        if !unrestricted.is_empty() {
            self.restrict_to_cookies_in_background(unrestricted);
        }
        Ok(BatchRows {
            users,
            tokens,
            idle,
        })
    }

    async fn decide(&self, parsed: ParsedRequest, rows: &BatchRows) -> Result<Actor, AccountError> {
        let requirement = &parsed.request.requirement;
        let actor = match parsed.credential {
            Credential::AccessToken(token) => {
                let found = rows.users.find(&token.user_id)?;
                self.admit_access_token(&token, found, requirement)?
            }
            Credential::Opaque { token, digest } => {
                let found = match digest {
                    Some(digest) => rows.tokens.find(&digest)?,
                    None => NOTHING_FOUND,
                };
                let admit =
                    async { self.admit_opaque_token(token, found, &rows.idle, requirement) };
                RequestContext::with_client_address(parsed.request.client_address, admit).await?
            }
        };
        admit(actor, requirement)
    }
}
