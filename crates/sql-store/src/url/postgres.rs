//! Parses `postgres://` URLs as libpq does.
//!
//! `uri.rs` splits a URL into its parts, as libpq defines them. This file checks the parts and turns them into
//! options of sqlx, one for each server. It refuses what sqlx would ignore or read in another way than libpq.

mod uri;

use rolegate_grpc_tls::{explain_read_error, read_file};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::{borrow::Cow, env, path::Path, str::FromStr};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use uri::{Server, Uri, parse_port};
use url::Url;

/// The maximum size of a certificate or key file in KiB, which is far more than a certificate chain needs.
const MAX_FILE_KIB: u64 = 1024;

/// The parameters that sqlx reads, as libpq names them, and [`TARGET_SESSION_ATTRS`].
const PARAMETERS: &str = "sslmode, sslrootcert, sslcert, sslkey, application_name, options, host, hostaddr, \
    port, dbname, user, password, target_session_attrs";

const SSL_MODE: &str = "sslmode must be one of disable, prefer, require, verify-ca and verify-full";

const TARGET_SESSION_ATTRS: &str = "target_session_attrs";

const INVALID: &str =
    "is not a valid PostgreSQL URL; expected postgres://user:password@host:5432/database";
/// The problem of a password that is not percent-encoded. Its end looks like a host or a database, and must not
/// be printed as one.
const UNENCODED: &str = "is not a valid PostgreSQL URL: percent-encode the password (/ is %2F, ? is %3F, # \
    is %23, @ is %40), or the name of the database";

/// A message that says what is valid. It quotes nothing from the URL except known names of parameters and the
/// paths of TLS files, because any other part may belong to a password.
type Problem = Cow<'static, str>;

/// Parses the part of a URL after its scheme.
pub(super) fn parse(after_scheme: &str) -> Result<Vec<PgConnectOptions>, Problem> {
    if has_unencoded_password(after_scheme) {
        return Err(UNENCODED.into());
    }
    check_environment()?;
    let mut uri = Uri::parse(after_scheme).ok_or(INVALID)?;
    check_parameters(&mut uri)?;
    check_files(&uri.parameters)?;
    uri.servers
        .iter()
        .map(|server| connect_options(&uri, server))
        .collect()
}

/// Returns whether the password seems to continue after the host, because it is not percent-encoded.
///
/// A part of such a password becomes the name of a host or a database, and would be printed as such. A `#` is a
/// sign of it, because a fragment has no meaning in a database URL. So is an `@` in the name of a database, or
/// an `@` or `/` in the name of a parameter: these characters are rarer there than in a password.
fn has_unencoded_password(after_scheme: &str) -> bool {
    let (before_query, query) = after_scheme.split_once('?').unwrap_or((after_scheme, ""));
    let path = before_query.split_once('/').map_or("", |(_, path)| path);
    let has_delimiter_in_name = |parameter: &str| {
        let name = parameter.split('=').next().unwrap_or_default();
        name.contains(['@', '/'])
    };
    after_scheme.contains('#') || path.contains('@') || query.split('&').any(has_delimiter_in_name)
}

/// Refuses values of `PGPORT` and `PGSSLMODE` that sqlx would ignore or read in another way than libpq.
fn check_environment() -> Result<(), Problem> {
    if env::var("PGPORT").is_ok_and(|port| !port.is_empty() && parse_port(&port).is_none()) {
        return Err("is completed by PGPORT, which must be a port from 1 to 65535".into());
    }
    if env::var("PGSSLMODE").is_ok_and(|mode| !is_known_mode(&mode)) {
        return Err(
            format!("is completed by PGSSLMODE, but {SSL_MODE}; or unset PGSSLMODE").into(),
        );
    }
    Ok(())
}

/// Refuses parameters that sqlx would ignore or read in another way, and applies those that libpq reads and
/// sqlx does not.
fn check_parameters(uri: &mut Uri) -> Result<(), Problem> {
    let has_several_servers = uri.servers.len() > 1;
    let has_unencoded_query = uri.parameters.iter().any(|(_, value)| value.contains('@'));
    for (name, value) in &mut uri.parameters {
        if name == "ssl" && value == "true" {
            // JDBC writes the parameter like this, and libpq accepts it.
            "sslmode".clone_into(name);
            "require".clone_into(value);
        }
        match &**name {
            "sslmode" if !is_known_mode(value) => return Err(SSL_MODE.into()),
            // Other values could lead to a standby, which may be outdated.
            TARGET_SESSION_ATTRS if !matches!(&**value, "read-write" | "primary") => {
                let problem = "must be read-write or primary, because only the primary is used";
                return Err(format!("{TARGET_SESSION_ATTRS} {problem}").into());
            }
            "host" | "hostaddr" | "port" if has_several_servers || value.contains(',') => {
                let several = "several are written as postgres://user:password@host1:5432,host2:5432/database";
                let one = "host, hostaddr and port name one server";
                return Err(format!("{one}; {several}").into());
            }
            "port" if parse_port(value).is_none() => return Err(INVALID.into()),
            name if is_known(name) => {}
            // The end of a password with a question mark looks like a parameter, and must not be printed as
            // one.
            _ if has_unencoded_query => return Err(UNENCODED.into()),
            // sqlx would ignore the parameter, and with a misspelled `sslmode` it would connect without TLS.
            name => return Err(unknown_parameter(name)),
        }
    }
    if uri.parameters.iter().any(|(name, _)| name == "hostaddr") && names_host(uri) {
        // sqlx would check the certificate for the address, or not use the address at all.
        return Err("hostaddr beside a host is not supported; name one of the two".into());
    }
    // sqlx does not know `target_session_attrs`, and would log a warning.
    uri.parameters
        .retain(|(name, _)| name != TARGET_SESSION_ATTRS);
    check_tls(&mut uri.parameters)
}

fn is_known_mode(mode: &str) -> bool {
    // sqlx reads `allow` as `disable`.
    mode != "allow" && PgSslMode::from_str(mode).is_ok()
}

fn is_known(name: &str) -> bool {
    let is_option = name.starts_with("options[") && name.ends_with(']');
    is_option || PARAMETERS.split(", ").any(|known| known == name)
}

fn names_host(uri: &Uri) -> bool {
    let has_host = uri.servers.iter().any(|server| !server.host.is_empty());
    has_host || uri.parameters.iter().any(|(name, _)| name == "host")
}

/// Returns the problem of an unsupported parameter. For a parameter that libpq or a provider knows, it says
/// what to write instead. The name of any other parameter may be a part of a password, so it is not printed.
fn unknown_parameter(name: &str) -> Problem {
    let instead = match name {
        "connect_timeout" => "each server has five seconds for a connection; remove it",
        "channel_binding" => {
            "use sslmode=verify-full, which protects against the same attacks, and remove it"
        }
        "ssl" => "use sslmode=require, or better sslmode=verify-full",
        "pgbouncer" | "pool_mode" => {
            "poolers in transaction mode are not supported; use the address of the server itself"
        }
        "schema" | "currentSchema" => "use options=-c%20search_path%3DNAME",
        _ => {
            return format!("has an unknown parameter; known are {PARAMETERS}, and options[NAME]")
                .into();
        }
    };
    format!("has the parameter {name}, which is not supported; {instead}").into()
}

/// Refuses parameters of TLS that protect less than they appear to, and `sslcert` or `sslkey` without the
/// other. Removes `sslrootcert=system`, which is what sqlx does by default.
fn check_tls(parameters: &mut Vec<(String, String)>) -> Result<(), Problem> {
    // If a parameter is repeated, its last value counts.
    let find = |name: &str| {
        let parameter = parameters.iter().rfind(|(other, _)| other == name);
        parameter.map(|(_, value)| &**value)
    };
    let default_mode = env::var("PGSSLMODE").ok();
    let mode = find("sslmode").or(default_mode.as_deref());
    let authorities = find("sslrootcert");
    let uses_system_authorities = authorities == Some("system");
    match mode.map(PgSslMode::from_str) {
        // This mode does not verify the host name, so any certificate of a public CA would be accepted.
        Some(Ok(PgSslMode::VerifyCa)) if authorities.is_none() || uses_system_authorities => {
            let advice = "for public CAs use sslmode=verify-full";
            return Err(format!("sslmode=verify-ca requires sslrootcert; {advice}").into());
        }
        Some(Ok(PgSslMode::VerifyCa | PgSslMode::VerifyFull)) => {}
        _ if authorities.is_some() => {
            let advice = "use sslmode=verify-full";
            return Err(format!("sslrootcert has no effect with this sslmode; {advice}").into());
        }
        _ => {}
    }
    if find("sslcert").is_some() != find("sslkey").is_some() {
        return Err("sslcert and sslkey must be set together".into());
    }
    if uses_system_authorities {
        // If no file is set, sqlx uses the certificate authorities of the system.
        parameters.retain(|(name, _)| name != "sslrootcert");
    }
    Ok(())
}

/// Refuses certificate and key files that are missing or invalid. sqlx reads these files at each connect, where
/// a missing file would look like an unavailable server.
fn check_files(parameters: &[(String, String)]) -> Result<(), Problem> {
    for (name, value) in parameters {
        let is_valid: fn(&[u8]) -> bool = match &**name {
            "sslrootcert" | "sslcert" => has_certificates,
            "sslkey" => |pem| PrivateKeyDer::from_pem_slice(pem).is_ok(),
            _ => continue,
        };
        let problem = match read_file(Path::new(value), MAX_FILE_KIB) {
            Ok(pem) if is_valid(&pem) => continue,
            Ok(_) => "contains no valid PEM of its kind".to_owned(),
            Err(error) => explain_read_error(&error),
        };
        return Err(format!("{name}: {value} {problem}").into());
    }
    Ok(())
}

/// Returns the options of sqlx for one server. All parts are passed as parameters, because sqlx uses the values
/// of parameters unchanged.
fn connect_options(uri: &Uri, server: &Server) -> Result<PgConnectOptions, Problem> {
    let port = server.port.map(|port| port.to_string()).unwrap_or_default();
    let parts = [
        ("host", &server.host),
        ("port", &port),
        ("user", &uri.user),
        ("password", &uri.password),
        ("dbname", &uri.database),
    ];
    let mut url = Url::parse("postgres:///").map_err(|_| INVALID)?;
    let given = parts.iter().filter(|(_, value)| !value.is_empty());
    url.query_pairs_mut()
        .extend_pairs(given)
        .extend_pairs(&uri.parameters);
    PgConnectOptions::from_str(url.as_str()).map_err(|_| INVALID.into())
}

fn has_certificates(pem: &[u8]) -> bool {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.is_ok_and(|certificates| !certificates.is_empty())
}

#[cfg(test)]
mod tests;
