//! The command `doctor`, which runs the steps of `serve` without changing anything, and prints one line for each.

use crate::{
    bind_address::BindAddress,
    descriptors,
    failure::Failure,
    healthcheck::{self, ProbeOutcome},
    logs::error_chain,
    output::print,
    settings::SettingError,
};
use std::{
    fmt::Display,
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

/// The mode bits that a file of secrets must not have: any access of others, and write or execute access of the group.
/// The group may read, because Kubernetes mounts a secret in this way for a user who is not root.
const FORBIDDEN_MODE: u32 = 0o027;

/// The minimum number of connections that a listener should have. A limit of open files that leaves fewer is made for a
/// desktop, not for a server.
const MIN_CLIENTS: usize = 1000;

/// Prints the outcomes of checks and counts the failures. No text may contain a secret.
#[derive(Debug, Default)]
pub struct Doctor {
    failed: usize,
}

impl Doctor {
    /// Prints that a step has succeeded.
    pub fn ok(&self, step: &str, text: impl Display) {
        print_line("ok", step, text);
    }

    /// Prints a note about something that only the operator can judge. It does not count as a failure.
    pub fn note(&self, step: &str, text: impl Display) {
        print_line("note", step, text);
    }

    /// Prints why a step has failed, with the error and its sources, and counts the failure.
    pub fn fail(&mut self, step: &str, problem: impl Into<Failure>) {
        self.failed += 1;
        print_line("FAILED", step, error_chain(&*problem.into()));
    }

    /// Prints the outcome of a step with [`Self::ok`] or [`Self::fail`].
    pub fn report(&mut self, step: &str, outcome: Result<impl Display, impl Into<Failure>>) {
        match outcome {
            Ok(text) => self.ok(step, text),
            Err(problem) => self.fail(step, problem),
        }
    }

    /// Prints why a step has failed, like [`Self::fail`]. Prints nothing if it has succeeded.
    pub fn require<T>(&mut self, step: &str, outcome: Result<T, impl Into<Failure>>) {
        if let Err(problem) = outcome {
            self.fail(step, problem);
        }
    }

    /// Reports whether `serve` could load the certificate of a listener, or that the listener has no TLS.
    pub fn tls<T>(&mut self, step: &str, loaded: Result<Option<T>, SettingError>) {
        let text = |tls: Option<T>| match tls {
            Some(_) => "the certificate and its key are valid",
            None => "off; this port is plain text",
        };
        self.report(step, loaded.map(text));
    }

    /// Reports the modes of the files that these settings name.
    ///
    /// A file that cannot be inspected is left to the step that reads it.
    pub fn file_modes(&mut self, files: &[(&str, &Option<PathBuf>)]) {
        for (name, file) in files {
            let Some(path) = file else {
                continue;
            };
            let Ok(metadata) = fs::metadata(path) else {
                continue;
            };
            let mode = metadata.mode() & 0o777;
            let path = path.display();
            if mode & FORBIDDEN_MODE == 0 {
                self.ok("files", format!("{name}: {path} is private"));
            } else {
                let problem = "others can read or change it; chmod 600 it";
                self.fail(
                    "files",
                    format!("{name}: {path} has mode {mode:04o}: {problem}"),
                );
            }
        }
    }

    /// Reports the limit of open files, which the start has already raised to the hard limit.
    pub(crate) fn open_files(&mut self) {
        let clients = descriptors::per_listener();
        let text = format!("open files allow {clients} connections to each listener");
        if clients < MIN_CLIENTS {
            self.fail(
                "limits",
                format!("{text}; raise the hard limit (nofile) to 32768"),
            );
        } else {
            self.ok("limits", text);
        }
    }

    /// Checks that the addresses of these settings and of `OPS_LISTEN_ADDR` can be bound. If a server with these
    /// settings is running, reports only whether it is ready.
    pub(crate) async fn addresses(&mut self, listeners: &[(&str, BindAddress)], ops: SocketAddr) {
        const STEP: &str = "addresses";
        match healthcheck::probe(ops).await {
            Ok(ProbeOutcome::Ready) => return self.ok(STEP, "in use by a server that is ready"),
            Ok(ProbeOutcome::NotReady { .. }) => {
                return self.fail(STEP, "in use by a server that is not ready");
            }
            Err(_) => {}
        }
        // All listeners stay bound until the end, so that two settings with the same address fail.
        let mut bound = Vec::new();
        for (name, address) in listeners.iter().chain(&[("OPS_LISTEN_ADDR", ops.into())]) {
            let listener = address.resolve(name).and_then(|address| {
                TcpListener::bind(address).map_err(|error| {
                    SettingError::new(*name, format!("cannot listen on {address}: {error}"))
                })
            });
            let free = listener.map(|listener| bound.push(listener));
            self.report(STEP, free.map(|()| format!("{name} {address} is free")));
        }
    }

    /// Returns an error with the number of failures if a check has failed.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            1 => Err("1 check failed".into()),
            count => Err(format!("{count} checks failed").into()),
        }
    }
}

fn print_line(outcome: &str, step: &str, text: impl Display) {
    print(&format!("{outcome:<6} {step:<9} {text}"));
}
