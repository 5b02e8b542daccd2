//! The service on its host, for this program and for rolegate.

use crate::{
    grpc::PostsGrpc,
    post::PostsOfDeletedUsers,
    posts::{DeletedAuthors, Posts},
    store,
};
use rolegate_auth_client::{AuthClient, DECISIONS, USERNAMES};
use rolegate_grpc_server::{
    GrpcServer,
    message_limits::{MAX_LONG_MESSAGE, MAX_MESSAGE, with_methods},
};
use rolegate_http_server::memory_budget::MemoryBudget;
use rolegate_program::{
    cidr_set::CidrSet, failure::Failure, secret::SecretSource, shutdown::Shutdown,
};
use rolegate_proto::{
    POSTS_DESCRIPTORS,
    posts_v1::post_service_server::{PostServiceServer, SERVICE_NAME},
};
use rolegate_sql_store::DatabaseUrl;
use std::{
    pin::Pin,
    sync::{Arc, LazyLock},
    time::Duration,
};
use tonic::service::Routes;

/// How long a response waits for free memory: less than its caller waits.
const WAIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The methods whose requests have a post.
const METHODS_WITH_POSTS: [&str; 2] = [
    "/rolegate.posts.v1.PostService/CreatePost",
    "/rolegate.posts.v1.PostService/UpdatePost",
];

/// What a program sets of the service.
#[derive(Debug)]
pub struct HostOptions {
    /// The peers whose word for the address of a client counts.
    pub trusted_gateways: CidrSet,
    /// MiB that responses with posts take at most.
    pub response_memory_mib: usize,
    /// What becomes of the posts of deleted users.
    pub posts_of_deleted_users: PostsOfDeletedUsers,
    /// The API key to which auth-service tells deletions of users, unless it tells this program without.
    pub user_changes_key: Option<SecretSource>,
}

/// Opens the database, waiting for a PostgreSQL that does not accept connections yet, and migrates
/// it. Binds no socket. Until `shutdown`, a task watches deletions of users.
#[must_use]
pub fn open<'a>(
    database: &'a DatabaseUrl,
    auth: AuthClient,
    options: HostOptions,
    shutdown: &Shutdown,
) -> Pin<Box<dyn Future<Output = Result<GrpcServer, Failure>> + 'a>> {
    let lame_duck = shutdown.lame_duck();
    // Boxed, so that no other crate compiles the service again.
    Box::pin(async move {
        let store = store::open(database).await?;
        // Metrics of the batched calls to auth-service, before the first call.
        LazyLock::force(&DECISIONS);
        LazyLock::force(&USERNAMES);
        rolegate_sql_store::register_metrics(store::NAME, &store);
        let mut watcher = DeletedAuthors::new(
            Arc::clone(&store),
            options.posts_of_deleted_users,
            options.user_changes_key,
        );
        let posts = Posts::new(Arc::clone(&store), auth.clone());
        // Not the name that the gateway uses: rolegate has both.
        let response_memory = options.response_memory_mib * 1024 * 1024;
        let memory = MemoryBudget::new("posts", response_memory, WAIT_TIMEOUT);
        let grpc = |max_message| {
            let calls = PostsGrpc::new(posts.clone(), memory.clone());
            PostServiceServer::new(calls).max_decoding_message_size(max_message)
        };
        let routes = with_methods(
            Routes::new(grpc(MAX_MESSAGE)),
            &grpc(MAX_LONG_MESSAGE),
            &METHODS_WITH_POSTS,
        );
        // Beside the service, whose readiness does not depend on it. Dropped, it withdraws its write.
        tokio::spawn(async move {
            tokio::select! {
                () = lame_duck => {}
                never = auth.watch_users(&mut watcher) => match never {},
            }
        });
        Ok(GrpcServer::new(
            routes,
            SERVICE_NAME,
            POSTS_DESCRIPTORS,
            options.trusted_gateways,
            store,
        )
        .await)
    })
}
