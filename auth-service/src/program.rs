//! What the binary runs.

use crate::{
    AuthService, accounts::InitialPassword, commands, service::Config, settings::Settings,
};
use rolegate_grpc_server::{Connections, GrpcListener};
use rolegate_proto::SERVICE_NAME;
use rolegate_service_runtime::{
    admin_server::AdminServer,
    command_line,
    http_server::HttpListener,
    program::{self, Failure, listener_line, print},
    readiness::Readiness,
    reload_signal::ReloadSignal,
    settings::SettingError,
    shutdown::Shutdown,
};
use std::process::ExitCode;

/// Runs auth-service with the settings of this process, `adjust`ed by whoever embeds it.
pub fn program(adjust: impl FnOnce(&mut Settings)) -> ExitCode {
    let line = command_line::parse().map(|mut line| {
        adjust(&mut line.settings);
        line
    });
    program::run(line, commands::run)
}

pub(crate) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
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
    let grpc = grpc.with_tls(tls.clone());
    let ops = HttpListener::bind("OPS_LISTEN_ADDR", settings.ops_listen_addr).await?;
    let readiness = Readiness::new(&shutdown);
    print(&format!(
        "Rolegate auth-service {}, users in {store_url}\n{}{}",
        env!("CARGO_PKG_VERSION"),
        grpc.banner_line("grpc", SERVICE_NAME),
        listener_line("ops", Some(ops.address()), "/livez /readyz /metrics"),
    ));
    let probes = AdminServer::start(ops, readiness.clone());
    let reload = || {
        service.read_keys_again();
        if let Some(tls) = &tls {
            tls.reload();
        }
    };
    let serving = async {
        tokio::join!(
            service.serve(Connections::Tcp(grpc), shutdown.clone()),
            service.monitor_store(readiness, &shutdown, &shutdown),
        )
    };
    let (outcome, ()) = tokio::select! {
        served = serving => served,
        never = reload_signal.on_each(reload) => match never {},
    };
    service.close().await;
    probes.stop().await;
    outcome
}

fn foundation(settings: &Settings) -> Result<Config, SettingError> {
    let keys = settings.service.key_source(|| {
        let right = "at least 32 bytes, such as the output of `openssl rand -base64 48`";
        Err(SettingError::new("SIGNING_SECRET", format!("is required: {right}")))
    })?;
    Ok(Config {
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
