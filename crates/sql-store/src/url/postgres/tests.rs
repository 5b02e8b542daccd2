use super::{INVALID, PgSslMode, UNENCODED, one_url_each, parse};

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
        ("channel_binding=require", UNKNOWN),
        ("hunter2", UNKNOWN),
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
    let urls = one_url_each("postgres://u:p,w@a:1,b,[::1]:3/db?sslmode=require");
    let expected =
        ["a:1", "b", "[::1]:3"].map(|host| format!("postgres://u:p,w@{host}/db?sslmode=require"));
    assert_eq!(urls.as_deref(), Ok(&expected[..]));
    assert_eq!(one_url_each("postgres://a,b").map(|urls| urls.len()), Ok(2));
    assert_eq!(
        one_url_each("postgres://a,b/db?options=c@d").map(|urls| urls.len()),
        Ok(2)
    );
    let one = "postgres://u:p,w@a/db?options=a,b";
    assert_eq!(one_url_each(one), Ok(vec![one.to_owned()]));
}

#[test]
fn empty_host_and_unescaped_password_are_rejected() {
    for url in [
        "postgres://a,,b/db",
        "postgres://u@,b/db",
        "postgres://u:1,2/hunter2@b/db",
    ] {
        assert_eq!(one_url_each(url), Err(INVALID.into()), "{url}");
    }
}
