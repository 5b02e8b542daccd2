//! What the targets in `fuzz/` reach of this crate; compiled for them only.

use crate::{
    commands::user::user_line::{LineReader, UserLine},
    grpc::ext_authz::request::{AuthorizationHeader, RequestAttributes},
    password::{BlocklistFile, HashExceptions, HashRules, Peppers, foreign_hash::ForeignHash},
    token::Tokens,
    user::{Credentials, User},
};
use rolegate_proto::{Authorization, envoy_auth_v3::AttributeContext};
use std::net::IpAddr;

/// What a token with a valid signature says.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenContent {
    /// The user id in `sub`.
    pub user_id: i64,
    /// The header's `marked_until`, otherwise 0.
    pub marked_until: u64,
    /// The claim `exp`.
    pub exp: u64,
    /// Whether the token is valid at the given time.
    pub is_valid: bool,
}

/// Verifies a token, and whether it is valid at this time.
pub fn verify(tokens: &Tokens, token: &str, now: u64) -> Option<TokenContent> {
    let verified = tokens.verify(token)?;
    Some(TokenContent {
        user_id: verified.user_id,
        marked_until: verified.marked_until,
        exp: verified.exp,
        is_valid: verified.is_valid_at(now),
    })
}

/// The flags of `user import`.
#[derive(Clone, Copy)]
pub struct ImportFlags {
    /// `--accept-slow-hashes`.
    pub accept_slow_hashes: bool,
    /// `--accept-weak-hashes`.
    pub accept_weak_hashes: bool,
}

/// Returns the line that `user export` writes of a user after `user import` of this line.
pub fn export_imported(line: &[u8], now: i64, flags: ImportFlags) -> Result<String, String> {
    let exceptions = HashExceptions {
        slow: flags.accept_slow_hashes,
        weak: flags.accept_weak_hashes,
    };
    let reader = LineReader {
        peppers: Peppers::default(),
        rules: HashRules::new(12, exceptions),
        roles: "editor".parse()?,
        now,
        revocation_time: now,
    };
    let imported = reader.read(line)?;
    let stored = Credentials {
        user: User {
            id: imported.id.unwrap_or(1),
            username: imported.username,
            role: imported.role,
            disabled: imported.disabled,
            tokens_not_before: imported.tokens_not_before.cast_unsigned(),
            tokens_marked_until: imported.tokens_marked_until.cast_unsigned(),
            second_factor: false,
            created_at: None,
        },
        password_hash: imported.password_hash,
    };
    serde_json::to_string(&UserLine::new(&stored)).map_err(|error| error.to_string())
}

/// Whether a login with this password matches a hash of another algorithm than bcrypt.
pub fn matches(hash: &str, password: &str) -> Option<bool> {
    Some(ForeignHash::parse(hash).ok()?.matches(password))
}

/// The passwords in a file.
pub struct Blocklist {
    file: BlocklistFile,
}

impl Blocklist {
    /// Reads the file.
    pub fn load(path: &std::path::Path) -> Result<Self, String> {
        let file = BlocklistFile::load(path).map_err(|error| error.to_string())?;
        Ok(Self { file })
    }

    /// The number of passwords.
    pub fn count(&self) -> usize {
        self.file.count()
    }

    /// Whether the file has this password.
    pub fn contains(&self, password: &str) -> bool {
        self.file.contains(password)
    }
}

/// What a request of Envoy says.
pub struct EnvoyRequest<'a> {
    /// The credentials.
    pub authorization: Option<Authorization>,
    /// The address of the client.
    pub client: Option<IpAddr>,
    /// Method, host and path.
    pub route: [&'a str; 3],
    /// The headers of browsers.
    pub headers: http::HeaderMap,
}

/// Reads a request of Envoy.
pub fn read_envoy_request(attributes: &AttributeContext) -> EnvoyRequest<'_> {
    let attributes = RequestAttributes {
        context: attributes,
    };
    let target = attributes.target();
    let authorization = match attributes.authorization() {
        AuthorizationHeader::Valid(authorization) => Some(authorization),
        AuthorizationHeader::Missing | AuthorizationHeader::Invalid => None,
    };
    EnvoyRequest {
        authorization,
        client: attributes.source_address(),
        route: [target.method, target.host, target.path],
        headers: attributes.browser_headers(),
    }
}
