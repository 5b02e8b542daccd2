//! The life of a program from its first line to its exit code.

use crate::{
    reload_signal::ReloadSignal,
    settings::{EXIT_USAGE, ParseOutcome, SettingError, number_between},
    shutdown::{Shutdown, termination_signal},
};
use rolegate_telemetry::{Telemetry, TelemetrySettings, metrics};
use std::{
    error::Error, future::Future, io::Write, net::SocketAddr, process::ExitCode, time::Duration,
};

/// Why a program ended otherwise than by being asked to.
#[derive(Debug)]
pub enum Failure {
    /// A setting is wrong: exit 64, nothing was bound.
    Setting(SettingError),
    /// The program could not start or go on: exit 1.
    Other(Box<dyn Error + Send + Sync>),
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Self {
        Self::Setting(error)
    }
}

impl From<Box<dyn Error + Send + Sync>> for Failure {
    fn from(error: Box<dyn Error + Send + Sync>) -> Self {
        Self::Other(error)
    }
}

/// Settings that every program has.
#[derive(Clone, Debug, clap::Args)]
pub struct CommonSettings {
    /// Seconds from the signal to stop until connections are refused, 0 to 300: what balancers need
    /// to see that /readyz says no
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

/// What the settings of every program say about its life.
pub trait ProgramSettings {
    /// The name of the program.
    const PROGRAM: &'static str;
    /// What every program is told alike.
    fn common(&self) -> &CommonSettings;
    /// Where `/readyz` is served.
    fn ops_listen_addr(&self) -> SocketAddr;
}

/// Runs a program: starts a runtime, logs and traces, hands `run` the settings and a [`Shutdown`] that
/// begins with the first signal, and turns the outcome into an exit code (0, 64 for a wrong
/// setting, 1 for any other failure, 130 when a second signal cut the drain short).
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
        Err(ParseOutcome::Invalid(error)) => return refuse(&error),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let telemetry = {
        let _within = runtime.enter();
        match Telemetry::start(S::PROGRAM, env!("CARGO_PKG_VERSION"), &settings.common().telemetry)
        {
            Ok(telemetry) => telemetry,
            Err(error) => return refuse(&SettingError::new(error.variable, error.problem)),
        }
    };
    metrics::register_build_info(S::PROGRAM, env!("CARGO_PKG_VERSION"));
    use_small_pages();
    let lame_duck = Duration::from_secs(settings.common().lame_duck_seconds.into());
    let outcome = runtime.block_on(async move {
        let shutdown = Shutdown::new();
        // From here on no SIGHUP ends the process, whether or not the program has a use for it.
        let _hangups = ReloadSignal::listen();
        let first = termination_signal();
        let second_signal = {
            let shutdown = shutdown.clone();
            async move {
                first.await;
                let second = termination_signal();
                tracing::info!(lame_duck_seconds = lame_duck.as_secs_f32(), "stopping");
                // The timer runs beside the wait for the second signal, so that either may win.
                tokio::join!(shutdown.begin(lame_duck), second);
            }
        };
        tokio::select! {
            outcome = run(settings, shutdown) => Some(outcome),
            () = second_signal => None,
        }
    });
    telemetry.shutdown();
    // Blocking work that nobody waits for any more must not hold the exit up.
    runtime.shutdown_background();
    match outcome {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(Failure::Setting(error))) => refuse(&error),
        Some(Err(Failure::Other(error))) => fail(&*error),
        None => ExitCode::from(130),
    }
}

/// Runs a command that ends by itself. At a signal it is simply dropped, and has not done what it was
/// for.
pub async fn cancel_on_shutdown(
    shutdown: &Shutdown,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    tokio::select! {
        outcome = command => outcome,
        () = shutdown.lame_duck() => Err(Failure::Other("stopped before it was done".into())),
    }
}

/// The allocator asks for huge pages, and idle programs then hold some 10 MiB that they do not use.
/// A refusal costs memory and nothing else.
#[cfg(target_os = "linux")]
fn use_small_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay on");
    }
}

#[cfg(not(target_os = "linux"))]
fn use_small_pages() {}

/// Says something to the person who started the program, on stdout. A closed stdout is no error.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.write_all(if text.ends_with('\n') { b"" } else { b"\n" });
    let _ = stdout.flush();
}

fn refuse(error: &SettingError) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::from(EXIT_USAGE)
}

fn fail(error: &dyn Error) -> ExitCode {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        line = format!("{line}: {cause}");
        source = cause.source();
    }
    let _ = writeln!(std::io::stderr(), "{line}");
    ExitCode::FAILURE
}

/// Tells a person (and scripts) where the program listens: a line per listener, `name` first, `off`
/// where a listener is switched off.
#[must_use]
pub fn listener_line(name: &str, address: Option<std::net::SocketAddr>, what: &str) -> String {
    let place = address.map_or_else(|| "off".to_owned(), |address| format!("http://{address}"));
    format!("  {name:<7} {place:<24} {what}\n")
}

/// The same for a listener that speaks TLS.
#[must_use]
pub fn tls_listener_line(name: &str, address: std::net::SocketAddr, what: &str) -> String {
    let place = format!("https://{address}");
    format!("  {name:<7} {place:<24} {what}\n")
}
