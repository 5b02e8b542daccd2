//! What the targets in `fuzz/` reach of this crate; compiled for them only.

use crate::{
    commands::user::user_line::{LineReader, UserLine},
    grpc::ext_authz::{cookie::browser_headers, request},
    password::{BlocklistFile, HashRules, Peppers, foreign_hash::ForeignHash},
    token::Tokens,
    user::{Credentials, User},
};
use rolegate_proto::{Authorization, envoy_auth_v3::AttributeContext};
use std::net::IpAddr;

/// The user id, the mark and `exp` of a token with a good signature, and whether it is valid at this time.
pub fn verified(tokens: &Tokens, token: &str, now: u64) -> Option<(i64, u64, u64, bool)> {
    let it = tokens.verify(token)?;
    Some((it.user_id, it.mark, it.exp, it.is_valid_at(now)))
}

/// The line that `user export` writes of a user after `user import` of this line. `rules`: the answers to
/// `--accept-slow-hashes` and `--accept-weak-hashes`.
pub fn exported(line: &[u8], now: i64, rules: (bool, bool)) -> Result<String, String> {
    let (peppers, roles) = (Peppers::default(), "editor".parse()?);
    let rules = HashRules::new(12, rules.0, rules.1);
    let it = LineReader {
        peppers,
        rules,
        roles,
        now,
        revocation_time: now,
    }
    .read(line)?;
    let user = User {
        id: it.id.unwrap_or(1),
        username: it.username,
        role: it.role,
        disabled: it.disabled,
        tokens_not_before: it.tokens_not_before.cast_unsigned(),
        tokens_marked_until: it.tokens_marked_until.cast_unsigned(),
        second_factor: false,
        created_at: None,
    };
    let stored = Credentials {
        user,
        password_hash: it.password_hash,
    };
    serde_json::to_string(&UserLine::of(&stored)).map_err(|error| error.to_string())
}

/// Whether a login with this password matches a hash of another algorithm than bcrypt.
pub fn matches(hash: &str, password: &str) -> Option<bool> {
    Some(ForeignHash::parse(hash).ok()?.matches(password))
}

/// The number of passwords in a file, and what tells whether it has one.
pub fn blocklist(file: &std::path::Path) -> Result<(usize, impl Fn(&str) -> bool), String> {
    let list = BlocklistFile::load(file).map_err(|error| error.to_string())?;
    Ok((list.count(), move |password: &str| list.contains(password)))
}

/// What a request of Envoy says: credentials, client, method, host and path, and the headers of browsers.
pub type Said<'a> = (
    Option<Authorization>,
    Option<IpAddr>,
    [&'a str; 3],
    http::HeaderMap,
);

/// Reads a request of Envoy.
pub fn said(it: &AttributeContext) -> Said<'_> {
    let headers = request::http(it).map(browser_headers).unwrap_or_default();
    (
        request::authorization(it),
        request::source_address(it),
        request::route(it).into(),
        headers,
    )
}
