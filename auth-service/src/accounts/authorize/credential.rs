//! Credentials as they are presented, before anything about them is read.

use crate::{
    accounts::{error::AccountError, service::Accounts},
    opaque_token::{self, TokenKind},
    token::VerifiedToken,
};
use rolegate_proto::{Reason, limits::DOMAIN_SESSION_PREFIX};

/// Where a token was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// As a bearer token.
    Bearer,
    /// In a cookie, which may hold a session and nothing else.
    Cookie,
}

/// A credential that may be valid, except for a malformed opaque token.
pub(super) enum Credential {
    AccessToken(VerifiedToken),
    Opaque {
        token: PresentedToken,
        /// The digest by which the token is found; `None` for a malformed one.
        digest: Option<String>,
    },
}

/// An opaque token, and where it was presented.
#[derive(Clone, Copy)]
pub(super) struct PresentedToken {
    pub(super) kind: TokenKind,
    pub(super) source: TokenSource,
    /// Set for a token in a cookie that may have been made as a bearer token, which one for a domain never was.
    pub(super) may_be_unrestricted: bool,
}

impl Accounts {
    /// Tells which kind of credential this is. A cookie may hold a session and nothing else, and one for a domain may be
    /// nowhere else. A token in a place where its kind is not allowed is treated as malformed.
    pub(super) fn parse_credential(
        &self,
        source: TokenSource,
        credential: &str,
    ) -> Result<Credential, AccountError> {
        let Some(kind) = TokenKind::detect(credential) else {
            return match source {
                TokenSource::Bearer => {
                    let verified = self.tokens.verify(credential).ok_or(Reason::TokenInvalid)?;
                    Ok(Credential::AccessToken(verified))
                }
                TokenSource::Cookie => Err(Reason::TokenInvalid.into()),
            };
        };
        let is_for_domain = credential.starts_with(DOMAIN_SESSION_PREFIX);
        let is_allowed = match source {
            TokenSource::Bearer => !is_for_domain,
            TokenSource::Cookie => kind == TokenKind::Session,
        };
        let digest = if is_allowed {
            opaque_token::digest(credential)
        } else {
            None
        };
        Ok(Credential::Opaque {
            token: PresentedToken {
                kind,
                source,
                may_be_unrestricted: source == TokenSource::Cookie && !is_for_domain,
            },
            digest,
        })
    }
}
