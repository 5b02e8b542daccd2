//! `DATABASE_URL`: what is accepted means the same to sqlx, one server for each host; a password is never printed,
//! neither of a URL that is accepted nor by an error.
//!
//! Input: `p` TEXT LF REST, in which a password that begins with TEXT follows `postgres://user:`; `q` TEXT LF REST, where
//! it is a parameter of a URL that begins with TEXT; anything else is a URL as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rolegate_sql_store::DatabaseTarget;
use sqlx::postgres::PgConnectOptions;

const PASSWORD: &str = "Zq7-hunter2";

fuzz_target!(|text: &str| {
    let (form, rest) = text.split_at_checked(1).unwrap_or_default();
    let (before, after) = rest.split_once('\n').unwrap_or(("", rest));
    let (url, has_password) = match form {
        // With an "=" it is the value of a parameter, and without an "@" that of a port or a database.
        "p" if !text.starts_with("postgres") => {
            let until = after.split('@').next().filter(|it| it.len() < after.len());
            let is_password = !before.contains('=') && until.is_some_and(|it| !it.contains('='));
            (format!("postgres://user:{before}{PASSWORD}{after}"), is_password)
        }
        "q" => (
            format!("postgres://{before}?password={PASSWORD}{after}"),
            !before.contains(['?', '#']),
        ),
        _ => (text.to_owned(), false),
    };
    let parsed = DatabaseTarget::parse(&url.as_str().into());
    let printed = match &parsed {
        Ok(target) => format!("{target} {target:?}"),
        Err(problem) => problem.to_string(),
    };
    let times = |text: &str| text.to_lowercase().matches(&PASSWORD.to_lowercase()).count();
    if has_password && times(&url) == 1 {
        assert_eq!(times(&printed), 0, "{url:?} {printed:?}");
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
            assert!(!path.is_empty() && !path.ends_with('/') && !path.contains(is_odd), "{url:?}");
        }
        Err(_) => {}
    }
});

/// Each host by itself, as sqlx reads it.
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
        let again: PgConnectOptions =
            one.parse().unwrap_or_else(|_| panic!("sqlx refuses {one:?}"));
        // Debug prints all, also the password and what is after it.
        assert_eq!(format!("{server:?}"), format!("{again:?}"), "{one:?}");
    }
}
