//! Checks domain names (RFC 1035), and tells which hosts belong to a domain.

use std::net::IpAddr;

/// The maximum length of a domain name, in bytes (RFC 1035, section 2.3.4).
const MAX_NAME_LEN: usize = 253;
/// The maximum length of a label of a domain name, in bytes (RFC 1035, section 2.3.4).
const MAX_LABEL_LEN: usize = 63;

/// Tells whether `host` is `domain` or a host below it.
pub(crate) fn is_in_domain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|subdomain| subdomain.is_empty() || subdomain.ends_with('.'))
}

/// Tells whether browsers treat the domain as a public suffix, below which anybody can have a host. Like browsers, this
/// function uses the Public Suffix List.
pub(crate) fn is_public_suffix(domain: &str) -> bool {
    psl::suffix(domain.as_bytes())
        .is_some_and(|suffix| suffix.is_known() && suffix.as_bytes() == domain.as_bytes())
}

/// Tells whether the text is a domain name in lower case with at least two labels, and without a dot at either end.
pub(crate) fn is_domain_name(text: &str) -> bool {
    text.contains('.')
        && text.len() <= MAX_NAME_LEN
        && text.split('.').all(is_label)
        && text.parse::<IpAddr>().is_err()
}

fn is_label(label: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_LABEL_LEN).contains(&label.len())
        && label.bytes().all(is_allowed)
        && !label.starts_with('-')
        && !label.ends_with('-')
}
