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
mod tests {
    use super::{super::InvalidUrl, PgSslMode, parse};

    fn rejection(parameters: &str) -> InvalidUrl {
        let url = format!("postgres://rolegate:hunter2@db/users?{parameters}");
        let error = parse(&url).expect_err(parameters);
        assert!(!error.to_string().contains("hunter2"), "{error}");
        error
    }

    #[test]
    fn url_that_looks_safer_than_it_is_is_rejected() {
        for (parameters, error) in [
            ("sslmode=on", InvalidUrl::SslMode),
            ("sslmode=", InvalidUrl::SslMode),
            ("sslmod=require", InvalidUrl::UnknownParameter),
            ("ssl-mode=require", InvalidUrl::UnknownParameter),
            ("sslcrl=/hunter2", InvalidUrl::UnknownParameter),
            ("channel_binding=require", InvalidUrl::UnknownParameter),
            ("hunter2", InvalidUrl::UnknownParameter),
            ("sslmode=verify-ca", InvalidUrl::AnyAuthority),
            ("sslrootcert=ca.pem", InvalidUrl::UnusedAuthority),
            ("sslmode=require&sslrootcert=ca.pem", InvalidUrl::UnusedAuthority),
            ("sslmode=verify-full&sslcert=me.pem", InvalidUrl::HalfIdentity),
            ("sslmode=verify-full&sslkey=me.key", InvalidUrl::HalfIdentity),
            ("port=many", InvalidUrl::InvalidPostgres),
            ("target_session_attrs=any", InvalidUrl::Target),
            ("target_session_attrs=prefer-standby", InvalidUrl::Target),
            ("target_session_attrs=", InvalidUrl::Target),
            ("target_session_attr=read-write", InvalidUrl::UnknownParameter),
            ("host=a,b", InvalidUrl::Hosts),
            ("port=1,2", InvalidUrl::Hosts),
        ] {
            assert_eq!(rejection(parameters), error, "{parameters}");
        }
    }

    #[test]
    fn unusable_file_is_named_with_its_parameter() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "-----BEGIN hunter2\nhunter2").expect("written");
        for (path, why) in [
            ("/nowhere/at/all", "does not exist"),
            ("/tmp", "is not a file"),
            (&file.path().display().to_string(), "contains no valid PEM"),
        ] {
            let error = rejection(&format!("sslmode=verify-full&sslrootcert={path}")).to_string();
            assert!(error.starts_with("sslrootcert: ") && error.contains(why), "{error}");
        }
    }

    #[test]
    fn parameters_apply_to_each_host() {
        let parameters = "sslmode=require&target_session_attrs=read-write&options=-c%20a%3Db";
        let url = format!("postgres://rolegate:hunter2@a:1,b:2/users?{parameters}");
        let servers = parse(&url).expect("valid");
        assert_eq!((servers[0].get_port(), servers[1].get_port()), (1, 2));
        for server in servers {
            assert_eq!(server.get_username(), "rolegate");
            assert!(matches!(server.get_ssl_mode(), PgSslMode::Require));
            assert_eq!(server.get_options(), Some("-c a=b"));
        }
        let parameter_for_both = parse("postgres://a,b/users?port=1");
        assert_eq!(parameter_for_both.err(), Some(InvalidUrl::Hosts));
        let invalid_port = parse("postgres://a:1,b:many/users");
        assert_eq!(invalid_port.err(), Some(InvalidUrl::InvalidPostgres));
    }

    #[test]
    fn unencoded_password_is_recognized() {
        for password in ["1/hunter2", "1#hunter2", "1?hunter2", "1?x=", "x@y/z", "x@y?z", "1,2/x"] {
            let url = format!("postgres://root:{password}@db/users");
            assert_eq!(parse(&url).err(), Some(InvalidUrl::UnencodedPassword), "{url}");
        }
        for url in [
            "postgres://root:hunter2@x@db/users",
            "postgres://root:1%2Fhunter2%23%3F%40@db/users%40x",
            "postgres://db/users?user=root@db&password=a/b",
        ] {
            assert!(parse(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn valid_parameters_are_accepted() {
        for parameters in [
            "",
            "?sslmode=disable",
            "?sslmode=prefer&application_name=x",
            "?sslmode=require",
            "?sslmode=verify-full",
            "?options=-c%20search_path%3Dx&options[statement_timeout]=5",
            "?host=/run/postgresql",
        ] {
            assert!(parse(&format!("postgres://rolegate@db/users{parameters}")).is_ok());
        }
    }
}
