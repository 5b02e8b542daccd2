//! What the binary runs.

use crate::{
    AuthService,
    accounts::InitialPassword,
    commands::{self, Command},
    service::Foundation,
    settings::Settings,
};
use auth_proto::SERVICE_NAME;
use grpc_server::{Connections, GrpcListener};
use service_runtime::{
    command_line,
    hangup::Hangups,
    http_listener::HttpListener,
    ops::Probes,
    program::{self, Failure, listener_line, say},
    readiness::Readiness,
    settings::SettingError,
    shutdown::Shutdown,
};
use std::process::ExitCode;

/// Runs auth-service with the settings of this process, `adjust`ed by whoever embeds it.
pub fn program(adjust: impl FnOnce(&mut Settings)) -> ExitCode {
    let line = command_line::parse_for(Command::wants_all_faults).map(|mut line| {
        adjust(&mut line.settings);
        line
    });
    program::run(line, commands::run)
}

pub(crate) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let hangups = Hangups::listen();
    let tls = settings.service.tls()?;
    let foundation = foundation(&settings)?;
    let store_url = foundation.store_url.clone();
    tracing::debug!(store = %store_url, "opening the store");
    let service = tokio::select! {
        service = AuthService::open(foundation) => service?,
        // Asked to stop while waiting for a database: nothing is in flight.
        () = shutdown.lame_duck() => return Ok(()),
    };
    let grpc = GrpcListener::bind("AUTH_LISTEN_ADDR", settings.service.auth_listen_addr).await?;
    let grpc = grpc.encrypted(tls.clone());
    let ops = HttpListener::bind("OPS_LISTEN_ADDR", settings.ops_listen_addr).await?;
    let readiness = Readiness::starting(&shutdown);
    say(&format!(
        "Rolegate auth-service {}, users in {store_url}\n{}{}",
        env!("CARGO_PKG_VERSION"),
        grpc.line("grpc", SERVICE_NAME),
        listener_line("ops", Some(ops.address()), "/livez /readyz /metrics"),
    ));
    let probes = Probes::start(ops, readiness.clone());
    let read_again = || {
        service.read_keys_again();
        grpc_server::load_again(tls.as_deref());
    };
    let serving = async {
        tokio::join!(
            service.serve(Connections::Tcp(grpc), shutdown.clone()),
            service.watch_store(readiness, &shutdown, &shutdown),
        )
    };
    let (outcome, ()) = tokio::select! {
        served = serving => served,
        never = hangups.each(read_again) => match never {},
    };
    service.close().await;
    probes.end().await;
    outcome
}

fn foundation(settings: &Settings) -> Result<Foundation, SettingError> {
    let keys = settings.service.key_source(|| {
        let right = "at least 32 bytes, such as the output of `openssl rand -base64 48`";
        Err(SettingError::new("SIGNING_SECRET", format!("is required: {right}")))
    })?;
    Ok(Foundation {
        store_url: settings.store_url()?,
        keys,
        admin_password: settings.service.admin_password()?,
        initial_password: InitialPassword::default(),
        bcrypt_cost: settings.service.bcrypt_cost,
        engine: settings.service.engine(),
        policy: settings.service.policy(),
        trusted_gateways: settings.trusted_gateways.clone(),
    })
}
