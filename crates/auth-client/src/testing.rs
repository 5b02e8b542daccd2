//! Starts `rolegate-test-server` for a test: the real services, with a database in memory.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    env,
    io::{self, BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// A command for a test server. As JSON, it looks like `{"command": "clock", "advance_seconds": 1800}`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum Control {
    /// Moves the clock by which access tokens (30 minutes) and sessions expire.
    Clock { advance_seconds: u32 },
    /// Makes auth-service answer no call, so that clients get 503. `Revoked` then fails too, because it calls
    /// auth-service.
    Outage {},
    /// Delays each call of auth-service by this time. If the delay exceeds the caller's deadline, clients get
    /// 504.
    Slow { milliseconds: u32 },
    /// Revokes every access token and session of a user whom a flag of the program created.
    Revoked { username: String },
    /// Ends `Outage` and `Slow`. Each of these two commands also ends the other.
    Reset {},
}

/// A running server with its own users. It is stopped as soon as this value is dropped, and at the latest at
/// the end of this process.
#[derive(Debug)]
pub struct TestServer {
    /// URLs by name: `bearer`, `basic`, `forward`, `grpc` and `control`.
    pub addresses: BTreeMap<String, String>,
    process: Child,
}

impl TestServer {
    /// Returns the command for the program in `ROLEGATE_TEST_SERVER` or, without that variable, in `PATH`.
    #[must_use]
    pub fn program() -> Command {
        let path = env::var_os("ROLEGATE_TEST_SERVER");
        Command::new(path.unwrap_or("rolegate-test-server".into()))
    }

    /// Starts a server with flags, such as
    /// `TestServer::start(TestServer::program().args(["--user", "ada:a password:author"]))`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such program, or if it refuses a flag.
    #[must_use]
    pub fn start(program: &mut Command) -> Self {
        let process = program.stdout(Stdio::piped()).spawn().unwrap_or_else(|error| {
            panic!(
                "cannot start {}: {error}; install it from a checkout of Rolegate with `cargo install \
                 --locked --path test-server`, or set ROLEGATE_TEST_SERVER to its path",
                program.get_program().display()
            )
        });
        // If anything below panics, this value is dropped, which ends the process.
        let mut server = Self {
            addresses: BTreeMap::new(),
            process,
        };
        let mut line = String::new();
        let mut stdout = BufReader::new(server.process.stdout.as_mut().expect("it is piped"));
        stdout.read_line(&mut line).expect("its line");
        let notice: Value = serde_json::from_str(&line).expect("a notice; stderr says why not");
        let addresses = notice["listeners"].clone();
        server.addresses = serde_json::from_value(addresses).expect("addresses");
        server
    }

    /// Sends a command to the server, which moves the clock, or starts or ends a failure.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses the command.
    pub fn control(&self, control: &Control) {
        let body = serde_json::to_string(control).expect("JSON");
        let host = self.addresses["control"].trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).expect("it runs");
        let head = format!(
            "POST / HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}",
            body.len()
        );
        write!(stream, "{head}\r\n\r\n{body}").expect("it reads");
        let answer = io::read_to_string(stream).expect("it answers");
        assert!(answer.starts_with("HTTP/1.0 200 "), "{control:?}: {answer}");
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}
