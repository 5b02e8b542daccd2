//! `postgres://` URLs. sqlx parses them; this module rejects what sqlx silently ignores.

use rolegate_grpc_tls::{explain, read_file};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::{borrow::Cow, path::Path, str::FromStr};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use url::Url;

/// Far more than a certificate chain.
const MAX_FILE_KIB: u64 = 1024;

/// The parameters that sqlx reads, as libpq names them, and [`TARGET`].
const PARAMETERS: &str = "sslmode, sslrootcert, sslcert, sslkey, application_name, options, host, hostaddr, \
    port, dbname, user, password, target_session_attrs";

const TARGET: &str = "target_session_attrs";

const INVALID: &str =
    "is not a valid PostgreSQL URL; expected postgres://user:password@host:5432/database";
/// Its end looks like a host or a database, and must not be printed as one.
const UNENCODED: &str = "is not a valid PostgreSQL URL: percent-encode the password (/ is %2F, ? is %3F, # \
    is %23, @ is %40), or the name of the database";

/// Prints what is valid, never the text.
type Problem = Cow<'static, str>;

pub(super) fn parse(url: &str) -> Result<Vec<PgConnectOptions>, Problem> {
    if has_unencoded_password(url) {
        return Err(UNENCODED.into());
    }
    let urls = one_url_each(url)?;
    urls.iter()
        .map(|url| parse_one(url, urls.len() > 1))
        .collect()
}

/// Whether the password seems to continue after the host, because it is not percent-encoded: a part of it
/// becomes the name of a host or a database, and would be printed as such. A fragment has no meaning in a
/// database URL, and `@` in the name of a database or of a parameter is rarer than in passwords.
fn has_unencoded_password(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = before_query.split_once('/').map_or("", |(_, path)| path);
    let is_odd = |parameter: &str| {
        parameter
            .split('=')
            .next()
            .unwrap_or_default()
            .contains(['@', '/'])
    };
    rest.contains('#') || path.contains('@') || query.split('&').any(is_odd)
}

/// The URL for each host, in order. libpq knows several hosts; the `url` crate and sqlx know only one.
fn one_url_each(url: &str) -> Result<Vec<String>, Problem> {
    let (scheme, rest) = url.split_once("://").ok_or(INVALID)?;
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, hosts) = authority
        .rsplit_once('@')
        .map_or(("", authority), |(user, hosts)| {
            // With the separator.
            (&authority[..=user.len()], hosts)
        });
    if !hosts.contains(',') {
        return Ok(vec![url.to_owned()]);
    }
    // An `@` in the path means that the authority ended within a password.
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    if path.contains('@') || hosts.split(',').any(str::is_empty) {
        return Err(INVALID.into());
    }
    Ok(hosts
        .split(',')
        .map(|host| format!("{scheme}://{user}{host}{rest}"))
        .collect())
}

fn parse_one(url: &str, is_one_of_several: bool) -> Result<PgConnectOptions, Problem> {
    let mut parsed = Url::parse(url).map_err(|_| INVALID)?;
    let is_known = |name: &str| {
        let is_option = name.starts_with("options[") && name.ends_with(']');
        is_option || PARAMETERS.split(", ").any(|known| known == name)
    };
    for (name, value) in parsed.query_pairs() {
        let is_host = matches!(&*name, "host" | "hostaddr" | "port");
        if name == "sslmode" && PgSslMode::from_str(&value).is_err() {
            let problem =
                "sslmode must be one of disable, prefer, require, verify-ca and verify-full";
            return Err(problem.into());
        } else if name == TARGET && !matches!(&*value, "read-write" | "primary") {
            // A standby may be outdated.
            let problem = "must be read-write or primary, because only the primary is used";
            return Err(format!("{TARGET} {problem}").into());
        } else if is_host && (is_one_of_several || value.contains(',')) {
            let several =
                "several are written as postgres://user:password@host1:5432,host2:5432/database";
            return Err(format!("host, hostaddr and port name one server; {several}").into());
        } else if !is_known(&name) {
            if parsed.query().is_some_and(|query| query.contains('@')) {
                return Err(UNENCODED.into());
            }
            // sqlx would ignore it, and a misspelt `sslmode` would mean plain text. Not printed: it may
            // be part of a password with a question mark.
            let known = "has an unknown parameter; known are";
            return Err(format!("{known} {PARAMETERS}, and options[NAME]").into());
        }
    }
    // sqlx does not know it, and would warn.
    let known: Vec<_> = parsed
        .query_pairs()
        .into_owned()
        .filter(|(name, _)| name != TARGET)
        .collect();
    parsed.query_pairs_mut().clear().extend_pairs(known);
    let options = PgConnectOptions::from_str(parsed.as_str()).map_err(|_| INVALID)?;
    let has = |name: &str| parsed.query_pairs().any(|(parameter, _)| parameter == name);
    match (options.get_ssl_mode(), has("sslrootcert")) {
        (PgSslMode::VerifyFull, _) | (PgSslMode::VerifyCa, true) => {}
        // Without host name verification, any certificate of a public CA would be accepted.
        (PgSslMode::VerifyCa, false) => {
            let advice = "for public CAs use sslmode=verify-full";
            return Err(format!("sslmode=verify-ca requires sslrootcert; {advice}").into());
        }
        (_, true) => {
            let advice = "use sslmode=verify-full";
            return Err(format!("sslrootcert has no effect with this sslmode; {advice}").into());
        }
        (_, false) => {}
    }
    if has("sslcert") != has("sslkey") {
        return Err("sslcert and sslkey must be set together".into());
    }
    for (name, value) in parsed.query_pairs() {
        let is_valid: fn(&[u8]) -> bool = match &*name {
            "sslrootcert" | "sslcert" => has_certificates,
            "sslkey" => |pem| PrivateKeyDer::from_pem_slice(pem).is_ok(),
            _ => continue,
        };
        // sqlx reads the files at each connect, where a missing file looks like an unavailable server.
        let problem = match read_file(Path::new(&*value), MAX_FILE_KIB) {
            Ok(pem) if is_valid(&pem) => continue,
            Ok(_) => "contains no valid PEM of its kind".to_owned(),
            Err(error) => explain(&error),
        };
        return Err(format!("{name}: {value} {problem}").into());
    }
    Ok(options)
}

fn has_certificates(pem: &[u8]) -> bool {
    let mut certificates = CertificateDer::pem_slice_iter(pem).peekable();
    certificates.peek().is_some() && certificates.all(|certificate| certificate.is_ok())
}

#[cfg(test)]
mod tests;
