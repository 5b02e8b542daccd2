//! Fuzzes `DATABASE_URL`. An accepted URL must mean the same to sqlx, with one server for each host, and have
//! only parameters that sqlx reads. The text that is printed for an accepted URL or an error must not depend on
//! the password.
//!
//! The input has one of three forms:
//!
//! - `p` TEXT LF REST: a password that begins with TEXT follows `postgres://user:`.
//! - `q` TEXT LF REST: the password is a parameter of a URL that begins with TEXT.
//! - Anything else is the URL itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rolegate_sql_store::DatabaseTarget;
use sqlx::postgres::PgConnectOptions;
use url::Url;

/// Two passwords of the same length.
const PASSWORDS: [&str; 2] = ["Zq7-hunter2", "Xk3-trustno"];

fuzz_target!(|text: &str| {
    let (form, rest) = text.split_at_checked(1).unwrap_or_default();
    let (before, after) = rest.split_once('\n').unwrap_or(("", rest));
    let url = |password| match form {
        "p" if !text.starts_with("postgres") => {
            format!("postgres://user:{before}{password}{after}")
        }
        "q" => format!("postgres://{before}?password={password}{after}"),
        _ => text.to_owned(),
    };
    let is_password = match form {
        // If there is an "=", the text is the value of a parameter. Without an "@", it is a port or the name of
        // a database.
        "p" => {
            let until = after.split('@').next().filter(|it| it.len() < after.len());
            !before.contains('=') && until.is_some_and(|it| !it.contains('='))
        }
        _ => !before.contains(['?', '#']),
    };
    let [(url, parsed, printed), (.., other)] = PASSWORDS.map(|password| {
        let url = url(password);
        let parsed = DatabaseTarget::parse(&url.as_str().into());
        let printed = match &parsed {
            Ok(target) => format!("{target} {target:?}"),
            Err(problem) => problem.to_string(),
        };
        (url, parsed, printed)
    });
    if is_password {
        assert_eq!(printed, other, "{url:?}");
    }
    match parsed {
        Ok(DatabaseTarget::Postgres(servers)) => compare(&url, &servers),
        Ok(DatabaseTarget::Sqlite(path)) => {
            let path = path.to_str().expect("from text");
            assert!(
                url == format!("sqlite:{path}") || url == format!("sqlite://{path}"),
                "{url:?}"
            );
            let is_odd = |it: char| ":?#%".contains(it) || it.is_control();
            assert!(
                !path.is_empty() && !path.ends_with('/') && !path.contains(is_odd),
                "{url:?}"
            );
        }
        Err(_) => {}
    }
});

/// The parameters that sqlx reads, and one that the product reads.
const PARAMETERS: [&str; 13] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "user",
];

/// Compares each server with the URL of its host alone, as sqlx reads it.
fn compare(url: &str, servers: &[PgConnectOptions]) {
    let (scheme, rest) = url.split_once("://").expect("a scheme");
    assert!(matches!(scheme, "postgres" | "postgresql"));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (user, hosts) = match rest[..end].rfind('@') {
        Some(at) => rest[..end].split_at(at + 1),
        None => ("", &rest[..end]),
    };
    let hosts: Vec<_> = hosts.split(',').collect();
    assert_eq!(servers.len(), hosts.len(), "{url:?}");
    for (host, server) in hosts.iter().zip(servers) {
        let one = format!("{scheme}://{user}{host}{}", &rest[end..]);
        for (name, _) in Url::parse(&one).expect("a URL").query_pairs() {
            let is_option = name.starts_with("options[") && name.ends_with(']');
            assert!(
                is_option || PARAMETERS.contains(&&*name),
                "sqlx ignores {name:?}"
            );
        }
        let again: PgConnectOptions = one
            .parse()
            .unwrap_or_else(|_| panic!("sqlx refuses {one:?}"));
        // The `Debug` output shows everything, including the password and what comes after it.
        assert_eq!(format!("{server:?}"), format!("{again:?}"), "{one:?}");
    }
}
