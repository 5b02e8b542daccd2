//! A program from its start to its exit code.

use crate::{
    core_dumps, descriptors, freed_memory,
    reload_signal::ReloadSignal,
    settings::{EXIT_USAGE, ParseOutcome, SettingError, check_distinct, number_between},
    shutdown::{Shutdown, termination_signal},
};
use rolegate_telemetry::{Telemetry, TelemetrySettings, logs::error_chain, metrics};
use std::{
    error::Error,
    fmt::Display,
    future::Future,
    io::{self, Write},
    net::SocketAddr,
    pin::pin,
    process::ExitCode,
    time::Duration,
};

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Failure {
    /// A setting is invalid: exit 64.
    Setting(#[from] SettingError),
    /// Anything else: exit 1.
    Other(#[from] Box<dyn Error + Send + Sync>),
    /// A part of what was asked for is done: exit 2.
    #[error("{0}")]
    Incomplete(String),
}

const EXIT_INCOMPLETE: u8 = 2;

/// Settings that every program has.
#[derive(Clone, Debug, clap::Args)]
pub struct CommonSettings {
    /// Seconds between the signal to stop and the end of accepting, 0 to 300: the time for load
    /// balancers to notice that /readyz fails
    #[arg(
        long,
        env = "LAME_DUCK_SECONDS",
        default_value = "2",
        value_parser = |text: &str| number_between(text, 0_u16, 300)
    )]
    pub lame_duck_seconds: u16,

    /// Logs and traces.
    #[command(flatten)]
    pub telemetry: TelemetrySettings,
}

/// The settings that [`run`] needs of every program.
pub trait ProgramSettings {
    /// The name of the program.
    const PROGRAM: &'static str;
    /// The settings that every program has.
    fn common(&self) -> &CommonSettings;
    /// The address of the admin server.
    fn ops_listen_addr(&self) -> SocketAddr;
    /// The addresses of the listeners for clients that are on, with their settings.
    fn client_addresses(&self) -> Vec<(&'static str, SocketAddr)>;

    /// No two listeners may have one address: the one that is bound later would be blamed alone.
    fn check_addresses(&self) -> Result<(), SettingError> {
        let mut addresses = self.client_addresses();
        addresses.insert(0, ("OPS_LISTEN_ADDR", self.ops_listen_addr()));
        check_distinct(&addresses)
    }
}

/// Runs a program with its runtime and telemetry. `run` gets the settings and a [`Shutdown`] that begins
/// with SIGTERM or SIGINT.
///
/// Exit codes: 0; 1 for a failure; 2 if a part is done; 64 for an invalid setting; 130 if a second signal
/// cut the drain short.
pub fn run<S, F, R>(settings: Result<S, ParseOutcome>, run: R) -> ExitCode
where
    S: ProgramSettings,
    R: FnOnce(S, Shutdown) -> F,
    F: Future<Output = Result<(), Failure>>,
{
    let settings = match settings {
        Ok(settings) => settings,
        Err(ParseOutcome::Help(text)) => {
            print(&text);
            return ExitCode::SUCCESS;
        }
        Err(ParseOutcome::Invalid(error)) => return exit_usage(&error),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit_failure(&error),
    };
    let telemetry = {
        let _context = runtime.enter();
        let (version, settings) = (env!("CARGO_PKG_VERSION"), &settings.common().telemetry);
        match Telemetry::start(S::PROGRAM, version, settings) {
            Ok(telemetry) => telemetry,
            Err(error) => return exit_usage(&error),
        }
    };
    if let Err(error) = core_dumps::disable() {
        return exit_failure(&error);
    }
    metrics::register_build_info(S::PROGRAM, env!("CARGO_PKG_VERSION"));
    disable_thp();
    descriptors::divide(settings.client_addresses().len());
    let lame_duck = Duration::from_secs(settings.common().lame_duck_seconds.into());
    let outcome = runtime.block_on(async move {
        let shutdown = Shutdown::new();
        // From here on SIGHUP does not end the process, whether or not the program reloads files.
        let _reload_signal = ReloadSignal::listen();
        tokio::spawn(freed_memory::return_periodically());
        let first = termination_signal();
        let second_signal = {
            let shutdown = shutdown.clone();
            async move {
                first.await;
                let mut second = pin!(termination_signal());
                tracing::info!(lame_duck_seconds = lame_duck.as_secs_f32(), "stopping");
                // The second signal may come within the lame-duck time or after it.
                tokio::select! {
                    () = &mut second => {}
                    () = shutdown.begin(lame_duck) => second.await,
                }
            }
        };
        tokio::select! {
            outcome = run(settings, shutdown) => Some(outcome),
            () = second_signal => None,
        }
    });
    telemetry.shutdown();
    // Blocking work whose result is no longer awaited must not delay the exit.
    runtime.shutdown_background();
    match outcome {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(Failure::Setting(error))) => exit_usage(&error),
        Some(Err(Failure::Other(error))) => exit_failure(&*error),
        Some(Err(error @ Failure::Incomplete(_))) => {
            exit_failure(&error);
            ExitCode::from(EXIT_INCOMPLETE)
        }
        None => ExitCode::from(130),
    }
}

/// Runs a command that ends by itself, and cancels it on a signal.
pub async fn cancel_on_shutdown(
    shutdown: &Shutdown,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    tokio::select! {
        outcome = command => outcome,
        () = shutdown.lame_duck() => Err(Failure::Other("cancelled by a signal".into())),
    }
}

/// The allocator asks for transparent huge pages, of which an idle program holds 10 MiB unused.
#[cfg(target_os = "linux")]
fn disable_thp() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "cannot disable transparent huge pages");
    }
}

#[cfg(not(target_os = "linux"))]
fn disable_thp() {}

/// Prints text for the user on stdout. A closed stdout is not an error.
pub fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.write_all(if text.ends_with('\n') { b"" } else { b"\n" });
    let _ = stdout.flush();
}

fn exit_usage(error: &dyn Display) -> ExitCode {
    let _ = writeln!(io::stderr(), "{error}");
    ExitCode::from(EXIT_USAGE)
}

fn exit_failure(error: &dyn Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", error_chain(error));
    ExitCode::FAILURE
}
