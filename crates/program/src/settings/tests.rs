use super::{SettingError, check_distinct, socket_address, variable_of};
use clap::Parser;
use std::io;

#[derive(Parser, Debug)]
struct Arguments {
    #[arg(long, env = "SAMPLE_LISTEN_ADDR", value_parser = socket_address::<50051>)]
    sample_listen_addr: Option<std::net::SocketAddr>,
    #[arg(long, value_name = "STEP", conflicts_with_all = ["sample_listen_addr", "all"])]
    rotate: Option<String>,
    #[arg(long)]
    all: bool,
}

fn line(arguments: &[&str]) -> String {
    let error = Arguments::try_parse_from(arguments).expect_err("invalid settings");
    assert!(error.use_stderr(), "expected an error, got {error}");
    SettingError::from_clap(&error).to_string()
}

#[test]
fn an_invalid_value_is_one_line_with_the_variable_and_without_the_value() {
    let line = line(&["sample", "--sample-listen-addr", "hunter2"]);
    assert_eq!(
        line,
        "SAMPLE_LISTEN_ADDR: must be an IP address and port such as 127.0.0.1:50051"
    );
}

#[test]
fn an_unknown_flag_is_named() {
    let line = line(&["sample", "--simple"]);
    assert_eq!(
        line,
        "--simple: there is no such flag or subcommand; --help lists them"
    );
}

#[test]
fn a_conflict_names_the_other_arguments_and_a_repetition_itself() {
    let address = ["--sample-listen-addr", "[::1]:1"];
    for (arguments, expected) in [
        (
            [&address[..], &address].concat(),
            "SAMPLE_LISTEN_ADDR: is given more than once",
        ),
        (
            ["--all", "--rotate", "s"].to_vec(),
            "--all: cannot be used with --rotate",
        ),
        (
            [&["--rotate", "s"], &address[..]].concat(),
            "--rotate: cannot be used with SAMPLE_LISTEN_ADDR",
        ),
    ] {
        assert_eq!(line(&[&["sample"], &arguments[..]].concat()), expected);
    }
}

#[test]
fn an_argument_is_named_by_its_variable_its_flag_or_its_place() {
    for (argument, name) in [
        ("--bcrypt-cost <BCRYPT_COST>", "BCRYPT_COST"),
        ("--postgres <USER@HOST:PORT/DATABASE>", "--postgres"),
        ("--database-secrets <DIR>", "--database-secrets"),
        ("<NAME>", "NAME"),
        ("<NAME>...", "NAME"),
        ("--sereve", "--sereve"),
        ("hunter2", "arguments"),
        ("", "arguments"),
    ] {
        assert_eq!(variable_of(argument), name, "{argument}");
    }
}

#[test]
fn two_listeners_of_one_address_are_both_named() {
    let check = |one: &str, other: &str| {
        let address = |text: &str| text.parse().expect("an address");
        check_distinct(&[("ONE_ADDR", address(one)), ("OTHER_ADDR", address(other))])
    };
    for (one, other) in [
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("0.0.0.0:8000", "127.0.0.1:8000"),
        ("127.0.0.1:8000", "[::]:8000"),
        ("[::]:8000", "0.0.0.0:8000"),
        ("[::1]:8000", "[::]:8000"),
    ] {
        let error = check(one, other).expect_err(one).to_string();
        let expected =
            format!("OTHER_ADDR: {other} is also the address of ONE_ADDR; set another port");
        assert_eq!(error, expected);
    }
    for (one, other) in [
        ("127.0.0.1:8000", "127.0.0.1:8001"),
        ("127.0.0.1:8000", "127.0.0.2:8000"),
        ("0.0.0.0:8000", "[::1]:8000"),
        ("[::1]:8000", "0.0.0.0:8000"),
        ("127.0.0.1:0", "127.0.0.1:0"),
    ] {
        assert_eq!(check(one, other), Ok(()), "{one} {other}");
    }
}

#[test]
fn help_is_not_an_error() {
    let error = Arguments::try_parse_from(["sample", "--help"]).expect_err("clap reports help so");
    assert!(!error.use_stderr() && error.to_string().contains("Usage"));
    assert!(
        Arguments::try_parse_from(["sample"])
            .expect("no settings")
            .sample_listen_addr
            .is_none()
    );
}

#[test]
fn what_the_machine_lacks_for_a_moment_may_pass_and_a_wrong_path_may_not() {
    let may_pass = |cause: &io::Error| {
        SettingError::new("DATA_DIR", cause)
            .transient_if_retryable(cause)
            .is_transient()
    };
    // The codes mean: no space, too many files of this process or of all, a disk that fails or is now read-only, an
    // address that is in use or not there.
    for code in [28, 24, 23, 5, 30, 98, 99] {
        assert!(may_pass(&io::Error::from_raw_os_error(code)), "{code}");
    }
    // The codes mean: missing, forbidden, and not a directory.
    for code in [2, 13, 20] {
        assert!(!may_pass(&io::Error::from_raw_os_error(code)), "{code}");
    }
    assert!(!may_pass(&io::Error::other("it is not a file")));
}
