//! Fuzzes the query of `/authorize`. A misspelled, repeated or unknown parameter must be refused, so that it
//! admits nobody. The roles must be those that a second implementation reads.
//!
//! The input is the query.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rolegate_fuzz::form::{fields, only};
use rolegate_gateway::fuzzing::authorize;
use rolegate_proto::Role;

const MAX_ROLES: usize = 35;

fuzz_target!(|query: &str| {
    let found =
        authorize(query).map(|(roles, status, cookie_only)| (roles, status.as_u16(), cookie_only));
    assert_eq!(found.as_ref().ok(), again(query).as_ref(), "{query:?}");
    match found {
        Err(error) => assert_eq!(
            (error.status().as_u16(), error.reason()),
            (400, "QUERY_INVALID")
        ),
        Ok((Some(names), ..)) => {
            let roles = Role::parse_list(&names).ok();
            let roles = roles.map(|it| it.iter().map(|role| role.as_str().to_owned()).collect());
            assert_eq!(roles, roles_of(&names), "{names:?}");
        }
        Ok((None, ..)) => assert!(!query.contains("roles=")),
    }
});

fn again(query: &str) -> Option<(Option<String>, u16, bool)> {
    let fields = fields(query.as_bytes())?;
    if fields
        .iter()
        .any(|(name, _)| !["roles", "redirect_status", "credentials"].contains(&name.as_str()))
    {
        return None;
    }
    let status = match only(&fields, "redirect_status").ok()? {
        None | Some("303") => 303,
        Some("401") => 401,
        Some(_) => return None,
    };
    let cookie_only = match only(&fields, "credentials").ok()? {
        None => false,
        Some("cookie") => true,
        Some(_) => return None,
    };
    let roles = only(&fields, "roles").ok()?.map(str::to_owned);
    Some((roles, status, cookie_only))
}

/// Returns each role of the list once, in the order of the list. Returns `None` if a name is malformed, or if
/// there are too many roles.
fn roles_of(names: &str) -> Option<Vec<String>> {
    let mut roles: Vec<String> = Vec::new();
    for name in names.split(',') {
        let is_letter = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        let is_name = (1..=32).contains(&name.len()) && name.as_bytes()[0].is_ascii_lowercase();
        if !is_name || !name.as_bytes().iter().all(|byte| is_letter(byte)) {
            return None;
        }
        if !roles.iter().any(|it| it == name) {
            roles.push(name.to_owned());
        }
    }
    (roles.len() <= MAX_ROLES).then_some(roles)
}
