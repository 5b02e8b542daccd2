use super::{INVALID, PgSslMode, Problem, UNENCODED};
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};
use std::process::Command;

const SSL_MODE: &str = "sslmode must be one of disable, prefer, require, verify-ca and verify-full";
const UNKNOWN: &str = "has an unknown parameter; known are sslmode, sslrootcert, sslcert, sslkey, \
    application_name, options, host, hostaddr, port, dbname, user, password, target_session_attrs, and \
    options[NAME]";
const ANY_AUTHORITY: &str =
    "sslmode=verify-ca requires sslrootcert; for public CAs use sslmode=verify-full";
const UNUSED_AUTHORITY: &str =
    "sslrootcert has no effect with this sslmode; use sslmode=verify-full";
const HALF_IDENTITY: &str = "sslcert and sslkey must be set together";
const SESSION: &str = "target_session_attrs must be read-write or primary, because only the primary is \
    used";
const HOSTS: &str = "host, hostaddr and port name one server; several are written as \
    postgres://user:password@host1:5432,host2:5432/database";

fn parse(url: &str) -> Result<Vec<PgConnectOptions>, Problem> {
    let (_, after_scheme) = url.split_once("://").expect("a scheme");
    super::parse(after_scheme)
}

fn rejection(parameters: &str) -> String {
    let url = format!("postgres://rolegate:hunter2@db/users?{parameters}");
    let error = parse(&url).expect_err(parameters);
    assert!(!error.contains("hunter2"), "{error}");
    error.into_owned()
}

#[test]
fn url_that_looks_safer_than_it_is_is_rejected() {
    for (parameters, error) in [
        ("sslmode=on", SSL_MODE),
        ("sslmode=", SSL_MODE),
        ("sslmod=require", UNKNOWN),
        ("ssl-mode=require", UNKNOWN),
        ("sslcrl=/hunter2", UNKNOWN),
        ("hunter2", INVALID),
        ("options[statement_timeout=5", UNKNOWN),
        ("sslmode=verify-ca", ANY_AUTHORITY),
        ("sslrootcert=ca.pem", UNUSED_AUTHORITY),
        ("sslmode=require&sslrootcert=ca.pem", UNUSED_AUTHORITY),
        ("sslmode=verify-full&sslcert=me.pem", HALF_IDENTITY),
        ("sslmode=verify-full&sslkey=me.key", HALF_IDENTITY),
        ("port=many", INVALID),
        ("target_session_attrs=any", SESSION),
        ("target_session_attrs=prefer-standby", SESSION),
        ("target_session_attrs=", SESSION),
        ("target_session_attr=read-write", UNKNOWN),
        ("host=a,b", HOSTS),
        ("port=1,2", HOSTS),
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
        let error = rejection(&format!("sslmode=verify-full&sslrootcert={path}"));
        assert!(
            error.starts_with("sslrootcert: ") && error.contains(why),
            "{error}"
        );
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
    assert_eq!(parameter_for_both.err().as_deref(), Some(HOSTS));
    let invalid_port = parse("postgres://a:1,b:many/users");
    assert_eq!(invalid_port.err().as_deref(), Some(INVALID));
}

#[test]
fn unencoded_password_is_recognized() {
    for password in [
        "1/hunter2",
        "1#hunter2",
        "1?hunter2",
        "1?x=",
        "x@y/z",
        "x@y?z",
        "1,2/x",
    ] {
        let url = format!("postgres://root:{password}@db/users");
        assert_eq!(parse(&url).err().as_deref(), Some(UNENCODED), "{url}");
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

#[test]
fn each_host_has_its_own_port_and_shares_the_rest() {
    let servers = parse("postgres://u:p,w@a:1,b,[::1]:3/db?sslmode=require").expect("valid");
    let addresses: Vec<_> = servers
        .iter()
        .map(|server| (server.get_host(), server.get_port()))
        .collect();
    assert_eq!(addresses, [("a", 1), ("b", 5432), ("::1", 3)]);
    for server in &servers {
        assert_eq!(server.get_username(), "u");
        assert_eq!(server.get_database(), Some("db"));
    }
}

#[test]
fn unescaped_password_beside_several_hosts_is_rejected() {
    let url = "postgres://u:1,2/hunter2@b/db";
    assert_eq!(parse(url).err().as_deref(), Some(UNENCODED));
}

#[test]
fn urls_of_providers_are_accepted_or_refused_with_the_form_that_is() {
    for url in [
        "postgres://u:p@ec2-1-2-3-4.compute-1.amazonaws.com:5432/d1",
        "postgresql://u:p@db-do-user-1-0.b.db.ondigitalocean.com:25060/defaultdb?sslmode=require",
        "postgresql://u:p@db.abcdefgh.supabase.co:5432/postgres",
        "postgresql://u%40server:p@server.postgres.database.azure.com:5432/postgres?sslmode=require",
        "postgresql://u:p@/r?host=/cloudsql/project:region:instance",
        "postgresql://u:p@db/r?ssl=true",
        "postgresql://u:p@db/r?sslmode=verify-full&sslrootcert=system",
        "postgres:///r?host=/run/postgresql&user=u",
    ] {
        assert!(parse(url).is_ok(), "{url}");
    }
    for (parameters, named) in [
        (
            "sslmode=require&channel_binding=require",
            "sslmode=verify-full",
        ),
        ("connect_timeout=10", "five seconds"),
        ("pgbouncer=true", "the server itself"),
        ("ssl=no-verify", "sslmode=require"),
        ("schema=app", "search_path"),
        ("sslmode=allow", "sslmode must be one of"),
        ("sslmode=require&sslrootcert=system", "no effect"),
        (
            "sslmode=verify-ca&sslrootcert=system",
            "requires sslrootcert",
        ),
        ("hostaddr=192.0.2.1", "beside a host"),
        ("port=0", "valid PostgreSQL URL"),
    ] {
        let error = rejection(parameters);
        assert!(error.contains(named), "{parameters}: {error}");
    }
    let socket = parse("postgresql://u:p@/r?host=/cloudsql/project:region:instance");
    let socket = socket.expect("valid").remove(0);
    assert_eq!(
        socket
            .get_socket()
            .map(|path| path.display().to_string())
            .as_deref(),
        Some("/cloudsql/project:region:instance")
    );
}

/// Selects the user, the database, the port and the parameters of a connection. The name `psql` is left out,
/// because it is psql's default for `application_name`.
const WHERE: &str = "SELECT concat_ws(' ', current_user, current_database(), inet_server_port(), \
    nullif(current_setting('application_name'), 'psql'), current_setting('search_path'))";

#[tokio::test]
async fn each_form_leads_where_psql_is_led_by_it() {
    let database = postgres_cluster::Database::create().await;
    let server = database.url();
    let mut owner = PgConnection::connect(server.as_str()).await.expect("there");
    let sql = r#"CREATE ROLE "a:b@c/d" LOGIN SUPERUSER PASSWORD 'p+/%'"#;
    sqlx::raw_sql(sql)
        .execute(&mut owner)
        .await
        .expect("created");
    let select = "SELECT current_setting('unix_socket_directories')";
    let folder: String = sqlx::query_scalar(select)
        .fetch_one(&mut owner)
        .await
        .expect("a folder");
    let port = server.port().expect("a port").to_string();
    let name = server.path().trim_start_matches('/').to_owned();
    let encoded_folder = folder.replace('/', "%2F");
    let fill = |form: &str| {
        form.replace("{port}", &port)
            .replace("{name}", &name)
            .replace("{folder}", &folder)
            .replace("{encoded}", &encoded_folder)
    };
    let psql = postgres_cluster::programs::folder()
        .expect("PostgreSQL")
        .join("psql");
    for form in [
        "postgres://postgres@127.0.0.1:{port}/{name}",
        "postgresql://postgres:any@localhost:{port}/{name}?sslmode=prefer",
        "postgres://a%3Ab%40c%2Fd:p%2B%2F%25@127.0.0.1:{port}/{name}",
        "postgres://postgres@/{name}?host=127.0.0.1&port={port}",
        "postgres://postgres@:{port}/{name}?host={folder}",
        "postgres:///{name}?host={folder}&port={port}&user=postgres",
        "postgres://postgres@{encoded}:{port}/{name}",
        "postgres://?host={folder}&port={port}&user=postgres&dbname={name}",
        "postgres://127.0.0.1:{port}/nowhere?dbname={name}&user=postgres",
        "postgres://nobody@127.0.0.1:1/{name}?user=postgres&port={port}",
        "postgres://postgres@/{name}?hostaddr=127.0.0.1&port={port}",
        "postgres://postgres@127.0.0.1:1,127.0.0.1:{port}/{name}",
        "postgres://postgres@127.0.0.1:{port}/{name}?application_name=a+b%20c",
        "postgres://postgres@127.0.0.1:{port}/{name}?options=-c%20search_path%3Dx",
        "postgres://postgres@127.0.0.1:{port}/{name}?target_session_attrs=read-write",
    ] {
        let url = fill(form);
        let by_psql = Command::new(&psql)
            .args(["-X", "-A", "-t", "-c", WHERE, &url])
            .env_remove("PGAPPNAME")
            .output()
            .expect("psql runs");
        let error = String::from_utf8_lossy(&by_psql.stderr);
        let by_psql = String::from_utf8_lossy(&by_psql.stdout).trim().to_owned();
        let mut answers = Vec::new();
        for options in parse(&url).expect(form) {
            if let Ok(mut connection) = PgConnection::connect_with(&options).await {
                let answer = sqlx::query_scalar::<_, String>(WHERE);
                let answer = answer.fetch_one(&mut connection).await.expect(form);
                answers.push(answer.replace("  ", " "));
            }
        }
        assert_eq!(answers, [by_psql], "{form}: {error}");
    }
    drop(owner);
}
