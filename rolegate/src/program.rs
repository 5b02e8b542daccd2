//! What the binary runs.

use crate::{
    data_dir::DataDir,
    in_memory,
    posts::Posts,
    settings::Settings,
    stores::Stores,
    welcome::{self, Addresses, WhereIsPassword},
};
use rolegate_auth_service::{
    AuthService,
    accounts::{AdminPassword, InitialPassword},
    service::Config,
};
use rolegate_gateway::Gateway;
use rolegate_grpc_server::{Connections, GrpcListener};
use rolegate_proto::SERVICE_NAME;
use rolegate_service_runtime::{
    admin_server::AdminServer,
    cidr_set::CidrSet,
    command_line::{self, CommandLine},
    http_server::HttpListener,
    program::{Failure, print},
    readiness::Readiness,
    reload_signal::ReloadSignal,
    settings::SettingError,
    shutdown::Shutdown,
};
use rolegate_sql_store::DatabaseUrl;
use std::process::ExitCode;

/// Runs rolegate with the settings of this process, `adjust`ed by whoever embeds it.
pub fn program(adjust: impl FnOnce(&mut Settings)) -> ExitCode {
    let line = command_line::parse().map(|mut line: CommandLine<Settings, _>| {
        adjust(&mut line.settings);
        line
    });
    command_line::serve_or_healthcheck(line, |settings, shutdown| {
        Box::pin(serve(settings, shutdown))
    })
}

async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    settings.public.validate()?;
    let stores = Stores::of(&settings)?;
    let data_dir = DataDir::open(&settings.data_dir)?;
    let (tls, posts_tls) = (settings.service.tls()?, settings.posts_tls.load()?);
    let has_own_store = settings.database_url.is_none() && settings.database_url_file.is_none();
    let password_file = data_dir.initial_admin_password();
    let was_there = password_file.exists();
    let store = stores.users.to_string();
    let foundation = foundation(&settings, &data_dir, stores.users)?;
    tracing::debug!(store, "opening the store");
    let service = tokio::select! {
        service = AuthService::open(foundation) => service?,
        () = shutdown.lame_duck() => return Ok(()),
    };
    // One client for the gateway and for posts: their questions share calls.
    let (auth_client, auth_in_memory) = in_memory::auth();
    let (posts_address, auth) = (settings.posts_listen_addr, auth_client.clone());
    let posts = Posts::open(&stores.posts, auth, posts_address, posts_tls.clone());
    let posts = tokio::select! {
        posts = posts => posts?,
        () = shutdown.lame_duck() => return Ok(()),
    };
    let grpc = GrpcListener::bind("AUTH_LISTEN_ADDR", settings.service.auth_listen_addr).await?;
    let grpc = grpc.with_tls(tls.clone());
    let ops = HttpListener::bind("OPS_LISTEN_ADDR", settings.ops_listen_addr).await?;
    let gateway = Gateway::bind(&settings.public).await?;
    let addresses = Addresses {
        bearer: gateway.bearer_address(),
        basic: gateway.basic_address(),
        grpc: grpc.banner_line("grpc", SERVICE_NAME),
        posts: posts.line(),
        ops: ops.address(),
    };
    let readiness = Readiness::new(&shutdown);
    let admin = match (password_file.exists(), has_own_store || !was_there) {
        (false, _) => WhereIsPassword::Elsewhere,
        (true, true) => WhereIsPassword::In(&password_file),
        (true, false) => WhereIsPassword::PerhapsIn(&password_file),
    };
    print(&welcome::text(&store, &addresses, &admin));

    // Each outlives those that need it: the probes answer to the end, auth as long as the gateway or
    // posts ask, posts as long as the gateway does.
    let probes = AdminServer::start(ops, readiness.clone());
    let auth_life = Shutdown::new();
    let (posts_client, posts_in_memory) = in_memory::posts();
    let posts_life = posts.life();
    let public = async {
        gateway.serve(auth_client, Some(posts_client), shutdown.clone()).await;
        posts_life.stop_now();
    };
    let posts = async {
        let outcome = posts.serve(posts_in_memory, shutdown.clone()).await;
        auth_life.stop_now();
        outcome
    };
    // Direct callers of gRPC leave at the same time as clients of the gateway.
    let reload = || {
        service.read_keys_again();
        if let Some(tls) = &tls {
            tls.reload();
        }
        if let Some(tls) = &posts_tls {
            tls.reload();
        }
    };
    let serving = async {
        tokio::join!(
            service.serve(Connections::Tcp(grpc), shutdown.clone()),
            service.serve(auth_in_memory, auth_life.clone()),
            posts,
            service.monitor_store(readiness, &shutdown, &auth_life),
            public,
        )
    };
    let (tcp, memory, posts, (), ()) = tokio::select! {
        served = serving => served,
        never = reload_signal.on_each(reload) => match never {},
    };
    service.close().await;
    probes.stop().await;
    tcp.and(memory).and(posts)
}

fn foundation(
    settings: &Settings,
    data_dir: &DataDir,
    store_url: DatabaseUrl,
) -> Result<Config, SettingError> {
    let keys = settings.service.key_source(|| data_dir.signing_secret())?;
    let admin_password = match settings.service.admin_password()? {
        AdminPassword::Missing => AdminPassword::GeneratedInto(data_dir.initial_admin_password()),
        given => given,
    };
    Ok(Config {
        store_url,
        keys,
        admin_password,
        initial_password: InitialPassword::in_file(data_dir.initial_admin_password()),
        bcrypt_cost: settings.service.bcrypt_cost,
        engine: settings.service.engine(),
        policy: settings.service.policy(),
        trusted_gateways: CidrSet::loopback(),
    })
}
