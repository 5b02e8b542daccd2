//! Opens, connects and serves the gateway, auth-service and posts-service.

use crate::{
    banner::{self, AdminPasswordHint, Container},
    data_dir::{self, DataDir},
    databases::Databases,
    in_memory,
    settings::Settings,
};
use rolegate_auth_service::{
    AuthService,
    accounts::{AdminPassword, InitialPassword},
    host::Config,
};
use rolegate_gateway::Gateway;
use rolegate_grpc_tls::ServerTls;
use rolegate_http_server::{admin_server::AdminServer, listener::Listener, readiness::Readiness};
use rolegate_posts_service::host;
use rolegate_program::{
    cidr_set::CidrSet,
    notice::Notice,
    program::Failure,
    reload_signal::ReloadSignal,
    settings::{ListenAddress, SettingError},
    shutdown::Shutdown,
};
use rolegate_proto::{SERVICE_NAME, posts_v1::post_service_server};
use rolegate_sql_store::DatabaseUrl;

#[expect(clippy::too_many_lines, reason = "the life of the program, in order")]
pub(crate) async fn serve(settings: Settings, shutdown: Shutdown) -> Result<(), Failure> {
    let reload_signal = ReloadSignal::listen();
    settings.public.validate()?;
    let databases = Databases::from_settings(&settings)?;
    let data_dir = DataDir::open(&settings.data_dir)?;
    let _serving = databases.is_embedded().then(|| data_dir.mark_served());
    let (auth_tls, posts_tls) = (settings.service.tls()?, settings.posts_tls.load()?);
    let forward_auth_tls = settings.public.forward_auth_tls()?;
    let has_own_database = settings.database_url.is_none() && settings.database_url_file.is_none();
    let password_file = data_dir.initial_admin_password();
    let had_password_file = password_file.exists();
    let config = auth_config(&settings, &data_dir, databases.users.clone())?;

    // Served before the databases are open: a program that waits for them is alive.
    let readiness = Readiness::new(&shutdown);
    let admin = AdminServer::start(settings.ops_listen_addr, readiness.clone()).await?;
    // The gateway and posts-service share one client, and thereby its batches.
    let (auth_client, auth_in_memory) = in_memory::auth();
    let (posts_client, posts_in_memory) = in_memory::posts();
    let posts_client = settings.posts.then_some(posts_client);
    let open = async {
        let auth = AuthService::open(config).await?;
        let (client, trusted) = (auth_client.clone(), CidrSet::default());
        let memory = settings.public.response_memory_mib;
        let posts = match &databases.posts {
            Some(posts) => {
                let fate = settings.posts_of_deleted_users;
                // In one process, auth-service sends the changes of users without a key.
                let open = host::open(posts, client, trusted, memory, fate, None, &shutdown);
                Some(open.await?)
            }
            None => None,
        };
        Ok::<_, Failure>((auth, posts))
    };
    let (auth, posts) = tokio::select! {
        opened = open => opened?,
        () = shutdown.lame_duck() => return Ok(()),
    };

    let auth_grpc = bind(
        "AUTH_LISTEN_ADDR",
        settings.auth_listen_addr,
        auth_tls.as_ref(),
    )
    .await?;
    let posts_grpc = bind(
        "POSTS_LISTEN_ADDR",
        settings.posts_listen_addr(),
        posts_tls.as_ref(),
    )
    .await?;
    let sign_in = &settings.service.sign_in;
    let gateway = Gateway::bind(&settings.public, sign_in, forward_auth_tls.clone()).await?;

    let hint = match (
        password_file.exists(),
        has_own_database || !had_password_file,
    ) {
        (false, _) => AdminPasswordHint::Unknown,
        (true, true) => AdminPasswordHint::In(&password_file),
        (true, false) => AdminPasswordHint::MaybeIn(&password_file),
    };
    let (bearer, basic) = (gateway.bearer_address(), gateway.basic_address());
    let posts_name = post_service_server::SERVICE_NAME;
    let headline = format!(
        "Rolegate {}, users in {}",
        env!("CARGO_PKG_VERSION"),
        databases.users
    );
    let url = |listener: &Option<Listener>| {
        listener
            .as_ref()
            .map_or_else(|| "off".to_owned(), Listener::url)
    };
    gateway
        .announce(Notice::new(headline))
        .listener("grpc", url(&auth_grpc), SERVICE_NAME)
        .listener("posts", url(&posts_grpc), posts_name)
        .http("ops", Some(admin.address), "/livez /readyz /metrics")
        .remark(match posts {
            Some(_) => "Posts: on, in this process",
            None => "Posts: off, because POSTS is off",
        })
        .remark(banner::text(
            bearer,
            basic,
            &hint,
            &banner::reset_password(&settings.data_dir, &databases.users, has_own_database),
            Container::current().as_ref(),
        ))
        .print(settings.common.telemetry.log_format);

    // TCP callers of gRPC stop with the clients of the gateway. In memory, posts-service serves the
    // gateway to its end, and auth-service serves both to their ends.
    let (auth_shutdown, posts_shutdown) = (Shutdown::new(), Shutdown::new());
    let auth_in_memory = Some((auth_in_memory, auth_shutdown.clone()));
    let posts_in_memory = Some((posts_in_memory, posts_shutdown.clone()));
    let serve_gateway = async {
        gateway
            .serve(auth_client, posts_client, shutdown.clone())
            .await;
        posts_shutdown.stop_now();
    };
    let of_posts = readiness.of_another_store();
    let serve_posts = async {
        // Not that of the process: without posts, users can still be served.
        let outcome = if let Some(posts) = posts {
            posts
                .serve(posts_grpc, posts_in_memory, of_posts, &shutdown)
                .await
        } else {
            posts_shutdown.stopping().await;
            Ok(())
        };
        auth_shutdown.stop_now();
        outcome
    };
    let serve_auth = auth
        .server
        .serve(auth_grpc, auth_in_memory, readiness, &shutdown);
    let serve_all = async { tokio::join!(serve_auth, serve_posts, serve_gateway) };
    let reload = || {
        auth.reload();
        auth_tls
            .iter()
            .chain(&posts_tls)
            .chain(&forward_auth_tls)
            .for_each(ServerTls::reload);
    };
    let (auth, posts, ()) = tokio::select! {
        served = serve_all => served,
        never = reload_signal.on_each(reload) => match never {},
    };
    admin.stop().await;
    auth.and(posts)
}

/// Binds a gRPC listener, unless it is off.
async fn bind(
    variable: &str,
    ListenAddress(address): ListenAddress,
    tls: Option<&ServerTls>,
) -> Result<Option<Listener>, SettingError> {
    let Some(address) = address else {
        return Ok(None);
    };
    Ok(Some(
        rolegate_grpc_server::bind(variable, address)
            .await?
            .with_tls(tls.cloned()),
    ))
}

/// The secrets and the admin's password are generated into `data_dir` if they are not set.
fn auth_config(
    settings: &Settings,
    data_dir: &DataDir,
    database: DatabaseUrl,
) -> Result<Config, SettingError> {
    let mut service = settings.service.clone();
    let keys = service.key_source(|| data_dir.signing_secret())?;
    if !settings.has_second_factor_key() {
        service.second_factor_key_file = Some(data_dir.second_factor_key()?);
    }
    let embedded = settings.data_dir.join(data_dir::USERS);
    let is_of_another_database = embedded.exists()
        && !database.is_same_file_as(&DatabaseUrl::from_file("DATA_DIR", embedded));
    let mut config = service.config(database, keys, CidrSet::default())?;
    let password_file = data_dir.initial_admin_password();
    if matches!(config.admin_password, AdminPassword::Missing) {
        config.admin_password = AdminPassword::GeneratedInto(password_file.clone());
    }
    // Otherwise the password in the file may still be good there.
    if !is_of_another_database {
        config.initial_password = InitialPassword::in_file(password_file);
    }
    Ok(config)
}
