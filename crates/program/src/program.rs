//! Runs a program: parses its settings, starts telemetry, runs a command, and handles signals until it exits.

use crate::{
    bind_address::BindAddress,
    cidr_set::CidrSet,
    command_line::{self, Command, Stop},
    descriptors,
    doctor::Doctor,
    failure::{Failure, exit},
    healthcheck, metrics,
    output::{check_printed, print},
    process,
    reload_signal::ReloadSignal,
    settings::{SettingError, check_distinct, number_between},
    shutdown::{Shutdown, termination_signal},
    telemetry::{Telemetry, TelemetrySettings},
    traces::StartError,
    version::{set_commit, version},
};
use std::{
    env,
    future::Future,
    net::SocketAddr,
    num::NonZero,
    pin::{Pin, pin},
    process::ExitCode,
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// The maximum number of worker threads that the setting accepts. It is far more than any machine has cores.
const MAX_WORKER_THREADS: usize = 4096;

/// The exit code after a second signal. A shell reports the same code for a command that SIGINT ended.
const CUT_SHORT: u8 = 130;

/// Settings that every program has.
#[derive(Clone, Debug, clap::Args)]
pub struct CommonSettings {
    /// Seconds from SIGTERM until connections are refused, 0 to 300, in which load balancers notice
    /// the shutdown
    #[arg(
        long,
        env,
        help_heading = "Logs and shutdown",
        default_value = "2",
        value_parser = number_between(0_u16, 300)
    )]
    pub lame_duck_seconds: u16,

    /// The settings of logs and traces.
    #[command(flatten)]
    pub telemetry: TelemetrySettings,
}

/// A program. The type of its settings implements this trait, which defines what the program does with them.
pub trait Program: clap::Parser {
    /// The name of the program in logs, traces and metrics.
    const PROGRAM: &'static str;
    /// The commands that only this program has.
    type Command: clap::Subcommand;

    /// Returns the settings on which the life of every program depends.
    fn profile(&self) -> Profile<'_>;

    /// Serves until `shutdown` is complete.
    fn serve(self, shutdown: Shutdown) -> impl Future<Output = Result<(), Failure>>;

    /// Runs the steps of `doctor` that only this program has.
    fn check(&self, doctor: &mut Doctor) -> impl Future<Output = ()>;

    /// Runs a command that only this program has.
    fn execute(self, command: Self::Command) -> impl Future<Output = Result<(), Failure>>;
}

/// The settings on which the life of a program depends.
#[derive(Debug)]
pub struct Profile<'s> {
    /// The settings that every program has.
    pub common: &'s CommonSettings,
    /// The address of the admin server.
    pub ops_listen_addr: SocketAddr,
    /// The listeners for clients that are on: the name of the setting, and the address.
    pub listeners: Vec<(&'static str, BindAddress)>,
    /// The name and the value of the setting with the networks whose peers may report client addresses.
    pub trusted_networks: (&'static str, &'s CidrSet),
    /// Warnings about settings that are accepted, but whose effect may surprise the operator. `serve` logs them, and
    /// `doctor` prints them as notes.
    pub warnings: Vec<String>,
}

/// Returns the settings and commands of a program, from which shell completions are generated.
#[must_use]
pub fn command_line<P: Program>() -> clap::Command {
    command_line::command::<P, P::Command>()
}

/// Runs a program with the arguments and the environment of this process, after `adjust` has changed its
/// settings. `commit` is the commit that the program was built from, if that is known.
///
/// The exit code is 0 for success, 1 for a failure, and 2 if only part of the work was done. It is 64 for an invalid
/// setting, and 130 if a second signal cut the shutdown short.
pub fn run<P: Program>(commit: Option<&str>, adjust: impl FnOnce(&mut P)) -> ExitCode {
    set_commit(commit);
    try_run(adjust).unwrap_or_else(|failure| exit(&failure))
}

fn try_run<P: Program>(adjust: impl FnOnce(&mut P)) -> Result<ExitCode, Failure> {
    let (mut settings, command) = match command_line::parse::<P, P::Command>() {
        Ok(parsed) => parsed,
        Err(Stop::Invalid(error)) => return Err(error.into()),
        Err(Stop::Help(help)) => {
            print(&help.render().to_string());
            check_printed()?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let unread_variables = command_line::check_names()?;
    adjust(&mut settings);
    let runtime = Builder::new_multi_thread()
        .worker_threads(worker_threads()?)
        .enable_all()
        .build()?;
    let telemetry = start_telemetry(&settings, &runtime)?;
    if !unread_variables.is_empty() {
        tracing::warn!(
            variables = unread_variables.join(", "),
            "these variables are not settings, and no program reads them"
        );
    }
    prepare_process(&settings)?;
    let outcome = runtime.block_on(run_until_stopped(settings, command));
    telemetry.shutdown();
    // Blocking work whose result is no longer awaited must not delay the exit.
    runtime.shutdown_background();
    match outcome {
        Some(outcome) => outcome.map(|()| ExitCode::SUCCESS),
        None => Ok(ExitCode::from(CUT_SHORT)),
    }
}

fn start_telemetry<P: Program>(settings: &P, runtime: &Runtime) -> Result<Telemetry, SettingError> {
    let _context = runtime.enter();
    Telemetry::start(P::PROGRAM, version(), &settings.profile().common.telemetry)
        .map_err(|StartError { variable, problem }| SettingError::new(variable, problem))
}

/// Disables core dumps, registers the metrics of this process and sets its limits, before it reads files with secrets
/// or receives requests.
fn prepare_process<P: Program>(settings: &P) -> Result<(), Failure> {
    process::disable_core_dumps()?;
    metrics::process::register(P::PROGRAM, version());
    process::disable_thp();
    descriptors::divide(settings.profile().listeners.len());
    Ok(())
}

/// Runs the command. Returns `None` if a second signal cut it short.
async fn run_until_stopped<P: Program>(
    settings: P,
    command: Command<P::Command>,
) -> Option<Result<(), Failure>> {
    let shutdown = Shutdown::new();
    // From here on, SIGHUP does not end the process, even if the program has no files to reload.
    let _reload_signal = ReloadSignal::listen();
    tokio::spawn(process::return_freed_memory());
    let lame_duck = Duration::from_secs(settings.profile().common.lame_duck_seconds.into());
    let second_signal = second_signal(shutdown.clone(), lame_duck);
    tokio::select! {
        outcome = execute(settings, command, shutdown) => Some(outcome),
        () = second_signal => None,
    }
}

/// Returns the number of threads that `TOKIO_WORKER_THREADS` sets, or one for each core.
///
/// The variable is read here because tokio would panic if it cannot parse the value, or if the value is empty.
fn worker_threads() -> Result<usize, SettingError> {
    const VARIABLE: &str = "TOKIO_WORKER_THREADS";
    for variable in [command_line::with_prefix(VARIABLE), VARIABLE.to_owned()] {
        let value = env::var_os(&variable).unwrap_or_default();
        if !value.is_empty() {
            let number = value.to_str().unwrap_or_default();
            return number_between(1, MAX_WORKER_THREADS)(number)
                .map_err(|problem| SettingError::new(variable, problem));
        }
    }
    Ok(thread::available_parallelism().map_or(1, NonZero::get))
}

/// Begins `shutdown` on the first signal, and resolves on the second, which may come during the lame-duck time or after
/// it.
fn second_signal(shutdown: Shutdown, lame_duck: Duration) -> impl Future<Output = ()> {
    let first = termination_signal();
    async move {
        first.await;
        let mut second = pin!(termination_signal());
        tracing::info!(lame_duck_seconds = lame_duck.as_secs_f32(), "stopping");
        tokio::select! {
            () = &mut second => {}
            () = shutdown.begin(lame_duck) => second.await,
        }
    }
}

/// Runs a command. A signal cancels every command but `serve`, which first finishes open requests.
async fn execute<P: Program>(
    settings: P,
    command: Command<P::Command>,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    let work: Pin<Box<dyn Future<Output = Result<(), Failure>>>> = match command {
        Command::Serve => {
            let profile = settings.profile();
            check_addresses(&profile)?;
            for warning in trust_warning(&profile).into_iter().chain(profile.warnings) {
                tracing::warn!("{warning}");
            }
            return Box::pin(settings.serve(shutdown)).await;
        }
        Command::Healthcheck => Box::pin(healthcheck::run(settings.profile().ops_listen_addr)),
        Command::Doctor => Box::pin(doctor(&settings)),
        Command::Own(command) => Box::pin(settings.execute(command)),
    };
    tokio::select! {
        outcome = work => outcome.and_then(|()| check_printed()),
        () = shutdown.lame_duck() => Err("canceled by a signal".into()),
    }
}

async fn doctor(settings: &impl Program) -> Result<(), Failure> {
    let mut doctor = Doctor::default();
    doctor.open_files();
    let profile = settings.profile();
    if let Some(warning) = trust_warning(&profile) {
        doctor.note("trust", warning);
    }
    for warning in &profile.warnings {
        doctor.note("settings", warning);
    }
    settings.check(&mut doctor).await;
    doctor
        .addresses(&profile.listeners, profile.ops_listen_addr)
        .await;
    doctor.finish()
}

/// Returns a warning if every client is trusted like a proxy or gateway of the operator.
fn trust_warning(profile: &Profile<'_>) -> Option<String> {
    let (name, networks) = profile.trusted_networks;
    if !networks.contains_everybody() {
        return None;
    }
    Some(format!(
        "{name}: trusts every address, so any client can choose the address by which it is limited and recorded; \
         list only the networks of your own proxies or gateways"
    ))
}

/// Checks that no two listeners share an address. Otherwise the error of binding would name only one of the two.
///
/// An address that this host does not have is skipped, because binding reports it.
fn check_addresses(profile: &Profile<'_>) -> Result<(), SettingError> {
    let mut listeners = vec![("OPS_LISTEN_ADDR", profile.ops_listen_addr)];
    for &(name, address) in &profile.listeners {
        if let Ok(address) = address.resolve(name) {
            listeners.push((name, address));
        }
    }
    check_distinct(&listeners)
}
