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
    cidr_set::CidrSet, program::Failure, secret::SecretSource, shutdown::Shutdown,
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

/// For memory to become free: less than callers wait.
const WAIT_TIMEOUT: Duration = Duration::from_secs(3);

/// The methods whose requests have a post.
const WITH_POSTS: [&str; 2] = [
    "/rolegate.posts.v1.PostService/CreatePost",
    "/rolegate.posts.v1.PostService/UpdatePost",
];

/// Opens the database, waiting for a PostgreSQL that does not accept connections yet, and migrates
/// it. Binds no socket. Responses with posts take at most `response_memory_mib`. Until `shutdown`, a task
/// watches deletions of users, with an API key or none.
#[must_use]
pub fn open<'a>(
    database: &'a DatabaseUrl,
    auth: AuthClient,
    trusted_gateways: CidrSet,
    response_memory_mib: usize,
    of_deleted_users: PostsOfDeletedUsers,
    user_changes_key: Option<SecretSource>,
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
        let mut watcher =
            DeletedAuthors::new(Arc::clone(&store), of_deleted_users, user_changes_key);
        let posts = Posts::new(Arc::clone(&store), auth.clone());
        // Not the name that the gateway uses: rolegate has both.
        let memory = MemoryBudget::new("posts", response_memory_mib * 1024 * 1024, WAIT_TIMEOUT);
        let grpc = |limit| {
            let calls = PostsGrpc::new(posts.clone(), memory.clone());
            PostServiceServer::new(calls).max_decoding_message_size(limit)
        };
        let routes = Routes::new(grpc(MAX_MESSAGE));
        let routes = with_methods(routes, &grpc(MAX_LONG_MESSAGE), &WITH_POSTS);
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
            trusted_gateways,
            store,
        )
        .await)
    })
}
