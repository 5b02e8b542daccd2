//! The command `doctor`: runs the steps of `serve` without changing anything, and prints one line
//! for each. Here are the steps of every program.

use crate::{ignored_address::AddressHeader, incoming::Incoming};
use rolegate_program::{
    bind_address::BindAddress,
    descriptors, healthcheck,
    program::{Failure, print},
    settings::SettingError,
};
use std::{fmt::Display, fs, net::SocketAddr, os::unix::fs::MetadataExt, path::Path};

/// Access of others, and of the group to write. The group may read: that is how Kubernetes mounts a
/// secret for a user who is not root.
const FORBIDDEN_MODE: u32 = 0o027;

/// Fewer are a limit of a desktop, not of a server.
const MIN_CLIENTS: usize = 1000;

/// Counts the failures of its checks.
#[derive(Debug, Default)]
pub struct Doctor {
    failed: usize,
}

impl Doctor {
    /// Prints the outcome of a step. Neither text may contain a secret.
    pub fn report(&mut self, step: &str, outcome: Result<impl Display, impl Display>) {
        match outcome {
            Ok(text) => print_line("ok", step, text),
            Err(problem) => {
                self.failed += 1;
                print_line("FAILED", step, problem);
            }
        }
    }

    /// Prints what only the operator can judge; neither good nor a failure.
    pub fn note(step: &str, text: impl Display) {
        print_line("note", step, text);
    }

    /// Fails if a check failed.
    pub fn finish(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            1 => Err(Failure::Other("1 check failed".into())),
            count => Err(Failure::Other(format!("{count} checks failed").into())),
        }
    }

    /// The limit of open files, which a start raises as far as it may.
    pub fn open_files(&mut self) {
        let clients = descriptors::per_listener();
        let text = format!("open files allow {clients} connections to each listener");
        let outcome = if clients < MIN_CLIENTS {
            Err(format!("{text}; raise the hard limit (nofile) to 32768"))
        } else {
            Ok(text)
        };
        self.report("limits", outcome);
    }

    /// The certificate of a listener, as `serve` loads it.
    pub fn tls<T>(&mut self, step: &str, loaded: Result<Option<T>, SettingError>) {
        let text = |tls: Option<T>| match tls {
            Some(_) => "the certificate and its key are valid",
            None => "off; this port is plain text",
        };
        self.report(step, loaded.map(text));
    }

    /// The modes of the files that these settings name. A file that cannot be read is reported by
    /// the step that reads it.
    pub fn file_modes(&mut self, files: &[(&str, Option<&Path>)]) {
        for (name, file) in files {
            if let Some(path) = file
                && let Ok(metadata) = fs::metadata(path)
            {
                let subject = format!("{name}: {}", path.display());
                let checked = check_mode(metadata.mode());
                let checked = checked.map_err(|problem| format!("{subject} {problem}"));
                self.report("files", checked.map(|()| format!("{subject} is private")));
            }
        }
    }

    /// Whether peers that are not trusted report client addresses to the server with this
    /// `OPS_LISTEN_ADDR`: a failure, unless the listener is public, because strangers can send anything.
    pub async fn ignored_addresses(
        &mut self,
        header: &AddressHeader,
        is_public: bool,
        ops: SocketAddr,
    ) {
        const STEP: &str = "trust";
        let Ok(count) = header.count_at(ops).await else { return };
        let AddressHeader { name, setting, sender, .. } = header;
        let problem = format!(
            "{count} calls with {name} came from addresses outside of {setting}, and it was \
             ignored: if a {sender} is one of them, add it; its users share one rate limit"
        );
        match count {
            0 => {
                let text = format!("every caller that sends {name} is in {setting}");
                self.report(STEP, Ok::<_, &str>(text));
            }
            _ if is_public => Self::note(STEP, problem),
            _ => self.report(STEP, Err::<&str, _>(problem)),
        }
    }

    /// Binds the addresses of these settings and of `OPS_LISTEN_ADDR`, unless a server with these
    /// settings runs already.
    pub async fn addresses(&mut self, listeners: &[(&str, BindAddress)], ops: SocketAddr) {
        const STEP: &str = "addresses";
        match healthcheck::is_ready(ops).await {
            Ok(true) => self.report(STEP, Ok::<_, &str>("in use by a server that is ready")),
            Ok(false) => self.report(STEP, Err::<&str, _>("in use by a server that is not ready")),
            Err(_) => {
                let ops = [("OPS_LISTEN_ADDR", BindAddress::Address(ops))];
                // All stay bound until the end, so that equal addresses fail.
                let mut bound = Vec::new();
                for (name, address) in listeners.iter().chain(&ops) {
                    let listener = match address.resolve(name) {
                        Ok(resolved) => Incoming::bind(name, resolved, 1).await,
                        Err(error) => Err(error),
                    };
                    let text = format!("{name} {address} is free");
                    self.report(STEP, listener.as_ref().map(|_| text));
                    bound.push(listener);
                }
            }
        }
    }
}

fn print_line(outcome: &str, step: &str, text: impl Display) {
    print(&format!("{outcome:<6} {step:<9} {text}"));
}

fn check_mode(mode: u32) -> Result<(), String> {
    let mode = mode & 0o777;
    if mode & FORBIDDEN_MODE == 0 {
        return Ok(());
    }
    Err(format!("has mode {mode:04o}: others can read or change it; chmod 600 it"))
}

#[cfg(test)]
mod tests {
    use super::check_mode;

    #[test]
    fn a_secret_file_is_private_to_its_owner_and_readable_by_its_group() {
        for private in [0o600, 0o400, 0o440, 0o100_600] {
            assert_eq!(check_mode(private), Ok(()), "{private:o}");
        }
        for open in [0o644, 0o604, 0o660, 0o602] {
            assert!(check_mode(open).is_err(), "{open:o}");
        }
    }
}
