//! Tests that concurrent reads share calls and do not affect each other.

use rolegate_grpc_client::{BalancedChannel, CallContext, CallError, Stream};
use rolegate_posts_client::{PostsClient, posts_v1::Post};
use rolegate_proto::{
    Reason,
    methods::UnaryRequest as _,
    posts_v1::{
        self as proto, BatchGetPostsRequest, BatchGetPostsResponse, GetPostRequest,
        GetPostResponse, SERVICE_NAME,
    },
};
use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tokio::{sync::Semaphore, task::JoinHandle};
use tonic::{
    Request, Response, Status,
    body::Body,
    server::{Grpc, NamedService},
    transport::Server,
};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

/// A fake posts-service that answers a call only after the test allows it. Posts 1 to 99 exist.
#[derive(Clone)]
struct Posts {
    title: Arc<Mutex<&'static str>>,
    may_answer: Arc<Semaphore>,
    /// The ids that each call requested.
    calls: Arc<Mutex<Vec<Vec<i64>>>>,
}

impl Posts {
    /// Records the call, and returns the requested posts. Like a query, it reads the titles when the call
    /// arrives.
    async fn call(&self, ids: &[i64]) -> Vec<proto::Post> {
        let title = *self.title.lock().expect("no panic");
        self.calls.lock().expect("no panic").push(ids.to_vec());
        self.may_answer.acquire().await.expect("open").forget();
        let existing = ids.iter().filter(|id| (1..100).contains(*id));
        // The response has the posts in no particular order.
        existing.rev().map(|&id| post(id, title)).collect()
    }

    async fn get_post(
        &self,
        request: Request<GetPostRequest>,
    ) -> Result<Response<GetPostResponse>, Status> {
        let post = self.call(&[request.into_inner().post_id]).await.pop();
        Ok(Response::new(GetPostResponse { post }))
    }

    async fn batch_get_posts(
        &self,
        request: Request<BatchGetPostsRequest>,
    ) -> Result<Response<BatchGetPostsResponse>, Status> {
        let posts = self.call(&request.into_inner().post_ids).await;
        Ok(Response::new(BatchGetPostsResponse { posts }))
    }

    fn calls(&self) -> Vec<Vec<i64>> {
        self.calls.lock().expect("no panic").clone()
    }

    fn answer(&self, calls: usize) {
        self.may_answer.add_permits(calls);
    }
}

fn post(id: i64, title: &str) -> proto::Post {
    let time = prost_types::Timestamp {
        seconds: 1,
        nanos: 0,
    };
    proto::Post {
        id,
        title: title.to_owned(),
        content: format!("content of {id}"),
        author_id: 1,
        author: None,
        created_at: Some(time),
        updated_at: Some(time),
    }
}

impl NamedService for Posts {
    const NAME: &'static str = SERVICE_NAME;
}

impl Service<http::Request<Body>> for Posts {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let posts = self.clone();
        Box::pin(async move {
            Ok(match request.uri().path() {
                GetPostRequest::PATH => {
                    let mut grpc = Grpc::new(ProstCodec::default());
                    let get_post = service_fn(|request| posts.get_post(request));
                    grpc.unary(get_post, request).await
                }
                BatchGetPostsRequest::PATH => {
                    let mut grpc = Grpc::new(ProstCodec::default());
                    let batch_get_posts = service_fn(|request| posts.batch_get_posts(request));
                    grpc.unary(batch_get_posts, request).await
                }
                path => panic!("{path} is not used by these tests"),
            })
        })
    }
}

fn start() -> (PostsClient, Posts) {
    let posts = Posts {
        title: Arc::new(Mutex::new("before")),
        may_answer: Arc::new(Semaphore::new(0)),
        calls: Arc::default(),
    };
    let (near, far) = tokio::io::duplex(64 * 1024);
    let service = posts.clone();
    let connection = tokio_stream::once(io::Result::Ok(far));
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        health.set_serving::<Posts>().await;
        let server = Server::builder()
            .add_service(service)
            .add_service(health_service);
        server.serve_with_incoming(connection).await
    });
    let near = Mutex::new(Some(near));
    let channel = BalancedChannel::with_connector(PostsClient::SERVICE, move || {
        let near = near.lock().expect("no panic").take();
        async move {
            near.map(|near| Box::new(near) as Box<dyn Stream>)
                .ok_or(io::ErrorKind::ConnectionRefused.into())
        }
    });
    let client = PostsClient::new(channel);
    (client, posts)
}

type Reading = JoinHandle<Result<Post, CallError>>;

fn read(client: &PostsClient, id: i64) -> Reading {
    let client = client.clone();
    tokio::spawn(async move { client.get_post(id, CallContext::default()).await })
}

/// Keeps a call in flight, so that the next reads wait and form a batch.
async fn occupy(client: &PostsClient, posts: &Posts) -> Reading {
    let first = read(client, 1);
    while posts.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    first
}

async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn waiting_reads_share_a_call_that_has_each_id_once() {
    let (client, posts) = start();
    let first = occupy(&client, &posts).await;
    let readings = [2, 3, 2, 100, 4].map(|id| (id, read(&client, id)));
    settle().await;
    posts.answer(2);
    assert_eq!(first.await.expect("no panic").expect("a post").id, 1);
    for (id, reading) in readings {
        let outcome = reading.await.expect("no panic");
        if id == 100 {
            let error = outcome.expect_err("it does not exist");
            assert_eq!(error.reason(), Some(Reason::PostNotFound));
        } else {
            let post = outcome.expect("a post");
            assert_eq!((post.id, post.content), (id, format!("content of {id}")));
        }
    }
    assert_eq!(posts.calls(), [vec![1], vec![2, 3, 4, 100]]);
}

#[tokio::test]
async fn read_made_after_a_change_returns_the_new_post() {
    let (client, posts) = start();
    let early = occupy(&client, &posts).await;
    *posts.title.lock().expect("no panic") = "after";
    let late = read(&client, 1);
    settle().await;
    posts.answer(2);
    assert_eq!(
        early.await.expect("no panic").expect("a post").title,
        "before"
    );
    assert_eq!(
        late.await.expect("no panic").expect("a post").title,
        "after"
    );
}

#[tokio::test]
async fn reads_beyond_the_batch_size_take_several_calls() {
    let (client, posts) = start();
    let first = occupy(&client, &posts).await;
    let readings: Vec<_> = (1..=99).map(|id| read(&client, id)).collect();
    settle().await;
    posts.answer(3);
    first.await.expect("no panic").expect("a post");
    for (id, reading) in (1..).zip(readings) {
        assert_eq!(reading.await.expect("no panic").expect("a post").id, id);
    }
    let sizes: Vec<_> = posts.calls().iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 64, 35]);
}
