//! Opens the service and starts its watcher of deleted users, for the programs posts-service and rolegate.

use crate::{
    grpc::PostsGrpc,
    post::PostsOfDeletedUsers,
    posts::{DeletedAuthors, Posts},
    store,
};
use rolegate_auth_client::{AuthClient, DECISIONS, USERNAMES};
use rolegate_grpc_server::GrpcServer;
use rolegate_http_server::memory_budget::MemoryBudget;
use rolegate_program::{
    cidr_set::CidrSet, failure::Failure, secret::SecretSource, shutdown::Shutdown,
};
use rolegate_proto::{POSTS_DESCRIPTORS, posts_v1::SERVICE_NAME};
use rolegate_sql_store::DatabaseUrl;
use std::{
    pin::Pin,
    sync::{Arc, LazyLock},
    time::Duration,
};

/// The maximum time for which a response waits for free memory. It is shorter than the deadline of its caller.
const WAIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The options of the service, which a program sets.
#[derive(Debug)]
pub struct HostOptions {
    /// The networks of the gateways that are trusted to report the address of a client.
    pub trusted_gateways: CidrSet,
    /// The maximum memory that responses with posts may take, in MiB.
    pub response_memory_mib: usize,
    /// The policy for the posts of deleted users.
    pub posts_of_deleted_users: PostsOfDeletedUsers,
    /// The API key with which the service watches deletions of users; `None` if auth-service reports them to this
    /// program without a key.
    pub user_changes_key: Option<SecretSource>,
}

/// Opens the database, migrates it, and returns the service.
///
/// If PostgreSQL does not accept connections yet, waits for it. Binds no socket. Starts a task that watches deletions
/// of users until `shutdown`.
#[must_use]
pub fn open<'a>(
    database: &'a DatabaseUrl,
    auth: AuthClient,
    options: HostOptions,
    shutdown: &Shutdown,
) -> Pin<Box<dyn Future<Output = Result<GrpcServer, Failure>> + 'a>> {
    let lame_duck = shutdown.lame_duck();
    // The future is boxed, so that crates that call this function do not compile the service again.
    Box::pin(async move {
        let store = store::open(database).await?;
        // The metrics of the batched calls to auth-service are registered before the first call.
        LazyLock::force(&DECISIONS);
        LazyLock::force(&USERNAMES);
        rolegate_sql_store::register_metrics(store::NAME, &store);
        let mut watcher = DeletedAuthors::new(
            Arc::clone(&store),
            options.posts_of_deleted_users,
            options.user_changes_key,
        );
        let posts = Posts::new(Arc::clone(&store), auth.clone());
        // The name differs from that of the gateway's budget, because rolegate has both budgets in one process.
        let response_memory = options.response_memory_mib * 1024 * 1024;
        let memory = MemoryBudget::new("posts", response_memory, WAIT_TIMEOUT);
        let methods = PostsGrpc::methods().bind(PostsGrpc { posts, memory });
        // The watcher runs beside the service, and readiness does not depend on it. When the watcher is dropped, its
        // unfinished write is rolled back.
        tokio::spawn(async move {
            tokio::select! {
                () = lame_duck => {}
                never = auth.watch_users(&mut watcher) => match never {},
            }
        });
        Ok(GrpcServer::new(
            methods,
            SERVICE_NAME,
            POSTS_DESCRIPTORS,
            options.trusted_gateways,
            store,
        )
        .await)
    })
}
