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
