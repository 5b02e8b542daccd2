//! `postgres://` URLs. sqlx parses them; this module rejects what sqlx silently ignores.

use super::{
    hosts::one_url_each,
    invalid_url::{InvalidUrl, PARAMETERS, TARGET},
    password,
};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::{borrow::Cow, fs, io, path::Path, str::FromStr};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use url::Url;

/// Far more than a certificate chain; a larger file is a mistake, such as a device.
const MAX_FILE_SIZE: u64 = 1024 * 1024;

/// The options of each host.
pub(super) fn parse(url: &str) -> Result<Vec<PgConnectOptions>, InvalidUrl> {
    if password::is_unencoded(url) {
        return Err(InvalidUrl::UnencodedPassword);
    }
    let urls = one_url_each(url)?;
    urls.iter().map(|url| parse_one(url, urls.len() > 1)).collect()
}

fn parse_one(url: &str, is_one_of_several: bool) -> Result<PgConnectOptions, InvalidUrl> {
    let mut parsed = Url::parse(url).map_err(|_| InvalidUrl::InvalidPostgres)?;
    for (name, value) in parsed.query_pairs() {
        if name == "sslmode" {
            PgSslMode::from_str(&value).map_err(|_| InvalidUrl::SslMode)?;
        } else if name == TARGET {
            let is_primary = matches!(&*value, "read-write" | "primary");
            is_primary.then_some(()).ok_or(InvalidUrl::Target)?;
        } else if matches!(&*name, "host" | "hostaddr" | "port")
            && (is_one_of_several || value.contains(','))
        {
            return Err(InvalidUrl::Hosts);
        } else if !PARAMETERS.contains(&&*name) && !name.starts_with("options[") {
            let has_user = parsed.query().is_some_and(|query| query.contains('@'));
            let error =
                if has_user { InvalidUrl::UnencodedPassword } else { InvalidUrl::UnknownParameter };
            return Err(error);
        }
    }
    // sqlx does not know it, and would warn.
    let known: Vec<_> =
        parsed.query_pairs().into_owned().filter(|(name, _)| name != TARGET).collect();
    parsed.query_pairs_mut().clear().extend_pairs(known);
    let options =
        PgConnectOptions::from_str(parsed.as_str()).map_err(|_| InvalidUrl::InvalidPostgres)?;
    let has = |name: &str| parsed.query_pairs().any(|(parameter, _)| parameter == name);
    match (options.get_ssl_mode(), has("sslrootcert")) {
        (PgSslMode::VerifyFull, _) | (PgSslMode::VerifyCa, true) => {}
        (PgSslMode::VerifyCa, false) => return Err(InvalidUrl::AnyAuthority),
        (_, true) => return Err(InvalidUrl::UnusedAuthority),
        (_, false) => {}
    }
    if has("sslcert") != has("sslkey") {
        return Err(InvalidUrl::HalfIdentity);
    }
    for (name, value) in parsed.query_pairs() {
        let (parameter, is_valid): (_, fn(&[u8]) -> bool) = match &*name {
            "sslrootcert" => ("sslrootcert", has_certificates),
            "sslcert" => ("sslcert", has_certificates),
            "sslkey" => ("sslkey", has_key),
            _ => continue,
        };
        let file = Path::new(&*value);
        let checked = read(file).and_then(|pem| {
            is_valid(&pem).then_some(()).ok_or(Cow::Borrowed("contains no valid PEM of its kind"))
        });
        checked.map_err(|problem| {
            let problem = format!("{} {problem}", file.display());
            InvalidUrl::File { parameter, problem }
        })?;
    }
    Ok(options)
}

/// sqlx reads the files at each connect, where a missing file looks like an unavailable server.
fn read(file: &Path) -> Result<Vec<u8>, Cow<'static, str>> {
    let read = fs::metadata(file).and_then(|metadata| {
        if !metadata.is_file() || metadata.len() > MAX_FILE_SIZE {
            return Err(io::Error::other("is not a file of at most 1 MiB"));
        }
        fs::read(file)
    });
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "does not exist".into(),
        io::ErrorKind::PermissionDenied => "is not readable by this user".into(),
        _ => format!("cannot be read: {error}").into(),
    })
}

fn has_certificates(pem: &[u8]) -> bool {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    certificates.is_ok_and(|certificates| !certificates.is_empty())
}

fn has_key(pem: &[u8]) -> bool {
    PrivateKeyDer::from_pem_slice(pem).is_ok()
}

#[cfg(test)]
mod tests;
