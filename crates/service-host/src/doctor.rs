//! The command `doctor`: runs the steps of `serve` without changing anything, and prints one line
//! for each.

use rolegate_grpc_server::{GrpcListener, IGNORED_ADDRESSES};
use rolegate_service_runtime::{
    bind_address::BindAddress,
    descriptors, healthcheck,
    http_server::HttpListener,
    ignored_address::AddressHeader,
    program::{Failure, print},
    settings::SettingError,
};
use rolegate_sql_store::{DatabaseUrl, Inspection, OpenError, Schema};
use std::{fmt::Display, fs, net::SocketAddr, os::unix::fs::MetadataExt, path::Path};

/// Access of others, and of the group to write. The group may read: that is how Kubernetes mounts a
/// secret for a user who is not root.
const FORBIDDEN_MODE: u32 = 0o027;

/// Fewer are a limit of a desktop, not of a server.
const MIN_CLIENTS: usize = 1000;

/// Far more than time synchronization leaves, far less than the lifetime of an access token.
const MAX_CLOCK_SKEW_SECONDS: f64 = 5.0;

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
            Err(problem) => self.fail(step, problem),
        }
    }

    fn fail(&mut self, step: &str, problem: impl Display) {
        self.failed += 1;
        print_line("FAILED", step, problem);
    }

    /// Fails if a check failed.
    pub fn finish(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            1 => Err(Failure::Other("1 check failed".into())),
            count => Err(Failure::Other(format!("{count} checks failed").into())),
        }
    }

    /// The certificate of gRPC, as the service loads it.
    pub fn tls<T>(&mut self, loaded: Result<Option<T>, SettingError>) {
        let text = |tls: Option<T>| match tls {
            Some(_) => "the certificate and its key are valid",
            None => "off; gRPC is plain text",
        };
        self.report("tls", loaded.map(text));
    }

    /// The limit of open files, which a start raises as far as it may.
    pub fn open_files(&mut self) {
        const STEP: &str = "limits";
        let clients = descriptors::per_listener();
        let text = format!("open files allow {clients} connections to each listener");
        if clients < MIN_CLIENTS {
            self.fail(STEP, format!("{text}; raise the hard limit (nofile) to 32768"));
        } else {
            print_line("ok", STEP, text);
        }
    }

    /// The modes of the files that these settings name. A file that cannot be read is reported by
    /// the step that reads it.
    pub fn file_modes(&mut self, files: &[(&str, Option<&Path>)]) {
        for (name, file) in files {
            if let Some(path) = file
                && let Ok(metadata) = fs::metadata(path)
            {
                let subject = format!("{name}: {}", path.display());
                match check_mode(metadata.mode()) {
                    Ok(()) => print_line("ok", "files", format!("{subject} is private")),
                    Err(problem) => self.fail("files", format!("{subject} {problem}")),
                }
            }
        }
    }

    /// The database, inspected and not migrated, and its clock. `now`: seconds since 1970.
    pub async fn database(
        &mut self,
        url: Result<DatabaseUrl, SettingError>,
        inspect: impl AsyncFnOnce(&DatabaseUrl) -> Result<Inspection, OpenError>,
        now: u64,
    ) -> Option<Inspection> {
        let url = url.map_err(|error| self.fail("database", error)).ok()?;
        match inspect(&url).await {
            Ok(found) => {
                let outcome = check_schema(&found).map(|state| format!("{url}: {state}"));
                self.report("database", outcome.map_err(|problem| format!("{url}: {problem}")));
                if let Some(database) = found.clock {
                    self.report("clock", check_clock(now, database));
                }
                Some(found)
            }
            Err(error) => {
                self.fail("database", error);
                None
            }
        }
    }

    /// Whether callers that are not trusted report client addresses to the server that runs with these
    /// settings.
    pub async fn trusted_gateways(&mut self, ops: SocketAddr) {
        let Ok(count) = IGNORED_ADDRESSES.count_at(ops).await else { return };
        let AddressHeader { name, setting, sender, .. } = &IGNORED_ADDRESSES;
        self.report(
            "trust",
            match count {
                0 => Ok(format!("every caller that sends {name} is in {setting}")),
                _ => Err(format!(
                    "{count} calls with {name} came from addresses outside of {setting}, and it was \
                     ignored: if a {sender} is one of them, add it; its users share one rate limit"
                )),
            },
        );
    }

    /// Binds the addresses of `grpc`, the name and the value of its setting, and of
    /// `OPS_LISTEN_ADDR`, unless a server with these settings runs already.
    pub async fn addresses(&mut self, grpc: (&str, BindAddress), ops: SocketAddr) {
        const STEP: &str = "addresses";
        match healthcheck::is_ready(ops).await {
            Ok(true) => print_line("ok", STEP, "in use by a server that is ready"),
            Ok(false) => self.fail(STEP, "in use by a server that is not ready"),
            Err(_) => {
                // Both stay bound until the end, so that equal addresses fail.
                let (name, address) = grpc;
                let grpc = match address.resolve(name) {
                    Ok(address) => GrpcListener::bind(name, address).await,
                    Err(error) => Err(error),
                };
                let grpc = grpc.map(|socket| (format!("{name} {address} is free"), socket));
                self.report(STEP, grpc.as_ref().map(|(text, _)| text));
                let socket = HttpListener::bind("OPS_LISTEN_ADDR", ops).await;
                self.report(STEP, socket.map(|_| format!("OPS_LISTEN_ADDR {ops} is free")));
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

/// Whether a start would succeed on this database.
fn check_schema(found: &Inspection) -> Result<String, String> {
    if !found.takes_writes {
        let problem = "accepts no writes (a standby, or a read-only file); use the primary";
        return Err(problem.to_owned());
    }
    match &found.schema {
        Schema::Current => Ok("the schema is up to date".to_owned()),
        Schema::Newer => Ok("a newer release created the schema; this one works with it".to_owned()),
        Schema::Missing { can_create: true } => {
            Ok("there is no schema yet; migrate or the first start creates it".to_owned())
        }
        Schema::Missing { can_create: false } => Err(
            "there is no schema yet, and this database user may not create it; GRANT it CREATE, or \
             make it the owner of the database"
                .to_owned(),
        ),
        Schema::Older { missing } => {
            Ok(format!("{missing} migration(s) are pending; migrate or the next start applies them"))
        }
    }
}

/// Compares the clock of this machine, in whole seconds, with the clock of the database.
#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
fn check_clock(now: u64, database: f64) -> Result<&'static str, String> {
    // The middle of the second is the best estimate.
    let skew = now as f64 + 0.5 - database;
    if skew.abs() <= MAX_CLOCK_SKEW_SECONDS {
        return Ok("agrees with the clock of the database");
    }
    let direction = if skew > 0.0 { "ahead of" } else { "behind" };
    let seconds = skew.abs();
    Err(format!("{seconds:.0} seconds {direction} the clock of the database; synchronize both"))
}

#[cfg(test)]
mod tests {
    use super::{check_clock, check_mode};

    #[test]
    fn a_clock_that_differs_by_more_than_five_seconds_fails() {
        for offset in [0_u64, 4] {
            assert!(check_clock(1000 + offset, 1000.5).is_ok(), "{offset}");
            assert!(check_clock(1000 - offset, 1000.5).is_ok(), "{offset}");
        }
        let ahead = check_clock(1060, 1000.5).expect_err("60 seconds");
        assert!(ahead.starts_with("60 seconds ahead of"), "{ahead}");
        let behind = check_clock(1000, 1060.5).expect_err("60 seconds");
        assert!(behind.starts_with("60 seconds behind"), "{behind}");
    }

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
