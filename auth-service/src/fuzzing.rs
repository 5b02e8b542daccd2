//! Opens private parsers of this crate to the fuzz targets in `fuzz/`. The module is compiled only for these
//! targets.

use crate::{
    commands::user::user_line::{LineReader, UserLine},
    grpc::ext_authz::request::{AuthorizationHeader, RequestAttributes},
    password::{BlocklistFile, HashExceptions, HashRules, Peppers, foreign_hash::ForeignHash},
    store::ExportedUser,
    tokens::AccessTokens,
    user::{Credentials, User},
};
use rolegate_proto::{Authorization, envoy_auth_v3::AttributeContext};
use std::net::IpAddr;

/// The content of a token with a valid signature.
#[derive(Debug, PartialEq, Eq)]
pub struct TokenContent {
    /// The user id in `sub`.
    pub user_id: i64,
    /// The member `marked_until` of the header; 0 without one.
    pub marked_until: u64,
    /// The claim `exp`.
    pub exp: u64,
    /// True if the token is valid at the given time.
    pub is_valid: bool,
}

/// Verifies the signature of a token, and reads its content. Returns `None` if the token is malformed or
/// forged. `now` is the time, in Unix seconds, for `is_valid`.
pub fn verify(tokens: &AccessTokens, token: &str, now: u64) -> Option<TokenContent> {
    let verified = tokens.verify(token)?;
    Some(TokenContent {
        user_id: verified.user_id,
        marked_until: verified.marked_until,
        exp: verified.exp,
        is_valid: verified.is_valid_at(now),
    })
}

/// The flags with which `user import` accepts hashes that it otherwise refuses.
#[derive(Clone, Copy)]
pub struct ImportFlags {
    /// The flag `--accept-slow-hashes`.
    pub accept_slow_hashes: bool,
    /// The flag `--accept-weak-hashes`.
    pub accept_weak_hashes: bool,
}

/// Parses a line as `user import` does, and returns the line that `user export` would write for this user.
/// Fails with the problem of a bad line.
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
    let credentials = Credentials {
        user: User {
            id: imported.id.unwrap_or(1),
            username: imported.username,
            role: imported.role,
            disabled: imported.disabled,
            until: imported.until.map(i64::cast_unsigned),
            memberships: imported.memberships,
            found_groups: Vec::new(),
            tokens_not_before: imported.tokens_not_before.cast_unsigned(),
            tokens_marked_until: imported.tokens_marked_until.cast_unsigned(),
            second_factor: false,
            created_at: None,
        },
        password_hash: imported.password_hash,
    };
    let exported = ExportedUser {
        credentials,
        is_disabled: imported.disabled,
    };
    serde_json::to_string(&UserLine::new(&exported)).map_err(|error| error.to_string())
}

/// Returns whether this password matches a hash of another algorithm than bcrypt; `None` if the hash cannot be
/// parsed.
pub fn matches(hash: &str, password: &str) -> Option<bool> {
    Some(ForeignHash::parse(hash).ok()?.matches(password))
}

/// A blocklist of passwords that was read from a file.
pub struct Blocklist {
    file: BlocklistFile,
}

impl Blocklist {
    /// Reads the blocklist from a file.
    pub fn load(path: &std::path::Path) -> Result<Self, String> {
        let file = BlocklistFile::load(path).map_err(|error| error.to_string())?;
        Ok(Self { file })
    }

    /// Returns the number of passwords and digests in the list.
    pub fn count(&self) -> usize {
        self.file.count()
    }

    /// Returns whether the list contains this password.
    pub fn contains(&self, password: &str) -> bool {
        self.file.contains(password)
    }
}

/// The parts of Envoy's description of a request that auth-service reads.
pub struct EnvoyRequest<'a> {
    /// The credentials in the `Authorization` header; `None` if it is missing or invalid.
    pub authorization: Option<Authorization>,
    /// The address of Envoy's client.
    pub client: Option<IpAddr>,
    /// The method, the host and the path, as log lines name them.
    pub route: [&'a str; 3],
    /// The headers that show whether and why a browser sent the request.
    pub headers: http::HeaderMap,
}

/// Reads Envoy's description of a request.
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
