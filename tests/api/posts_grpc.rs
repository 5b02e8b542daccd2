//! The gRPC API of posts-service, called by the generated client.

use e2e::{
    TestApp, TestSetup, eventually, for_all_deployments, for_one_deployment, for_two_deployments,
    grpc::{self, authenticated, expect_error},
};
use rolegate_proto::posts_v1::{
    BatchGetPostsRequest, CreatePostRequest, DeletePostRequest, GetPostRequest, ListPostsRequest,
    Post, UpdatePostRequest, post_service_client::PostServiceClient,
};
use tonic::{Code, Request, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

for_all_deployments!(every_call_returns_what_the_contract_says);
for_two_deployments!(every_error_carries_its_reason_in_the_order_of_the_checks);
for_one_deployment!(health_and_reflection_name_the_service);

async fn client(app: &TestApp) -> PostServiceClient<Channel> {
    PostServiceClient::new(grpc::channel(&app.posts_address()).await)
}

fn new_post(title: &str) -> CreatePostRequest {
    CreatePostRequest {
        title: title.to_owned(),
        content: "content".to_owned(),
    }
}

fn change(post_id: i64, title: &str) -> UpdatePostRequest {
    UpdatePostRequest {
        post_id,
        title: title.to_owned(),
        content: "changed".to_owned(),
    }
}

async fn create(client: &mut PostServiceClient<Channel>, token: &str) -> Post {
    let response = client
        .create_post(authenticated(new_post("title"), token))
        .await
        .expect("created");
    response.into_inner().post.expect("a post")
}

async fn every_call_returns_what_the_contract_says(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let mut client = client(&app).await;
    let one = create(&mut client, &ann.token).await;
    let two = create(&mut client, &ann.token).await;
    assert_eq!(
        (one.author_id, one.author.as_deref()),
        (ann.id, Some("ann"))
    );
    assert_eq!(one.created_at, one.updated_at);

    let read = client
        .get_post(GetPostRequest { post_id: one.id })
        .await
        .expect("read");
    assert_eq!(read.into_inner().post.as_ref(), Some(&one));
    let request = BatchGetPostsRequest {
        post_ids: vec![two.id, one.id, one.id, 999, -1],
    };
    let mut batch = client
        .batch_get_posts(request)
        .await
        .expect("read")
        .into_inner()
        .posts;
    batch.sort_by_key(|post| post.id);
    assert_eq!(batch, [one.clone(), two.clone()]);
    let page = ListPostsRequest {
        page_size: 1,
        ..ListPostsRequest::default()
    };
    let page = client.list_posts(page).await.expect("listed").into_inner();
    assert_eq!(
        (page.posts.as_slice(), page.next_after),
        (&[one.clone()][..], Some(one.id))
    );

    let changed = client
        .update_post(authenticated(change(one.id, "new"), &ann.token))
        .await;
    let changed = changed.expect("changed").into_inner().post.expect("a post");
    assert_eq!(
        (changed.title.as_str(), changed.content.as_str()),
        ("new", "changed")
    );
    assert_eq!(
        (changed.author_id, changed.created_at),
        (ann.id, one.created_at)
    );
    let request = DeletePostRequest { post_id: one.id };
    client
        .delete_post(authenticated(request, &ann.token))
        .await
        .expect("deleted");
    let deleted = client.get_post(GetPostRequest { post_id: one.id }).await;
    expect_error(deleted, Code::NotFound, "POST_NOT_FOUND");
}

async fn every_error_carries_its_reason_in_the_order_of_the_checks(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let bob = app.user_with_role("bob", "author").await;
    let user = app.user("some user").await;
    let mut client = client(&app).await;
    let post = create(&mut client, &ann.token).await;

    // Access to the internal network does not authenticate a caller.
    let unsigned = client.create_post(Request::new(new_post(""))).await;
    expect_error(unsigned, Code::Unauthenticated, "TOKEN_INVALID");
    let unsigned = client
        .delete_post(Request::new(DeletePostRequest { post_id: post.id }))
        .await;
    expect_error(unsigned, Code::Unauthenticated, "TOKEN_INVALID");
    let forged = client
        .update_post(authenticated(change(999, ""), "nonsense"))
        .await;
    expect_error(forged, Code::Unauthenticated, "TOKEN_INVALID");
    let by_user = client
        .update_post(authenticated(change(999, ""), &user.token))
        .await;
    expect_error(by_user, Code::PermissionDenied, "ROLE_INSUFFICIENT");
    let of_nothing = client
        .update_post(authenticated(change(999, ""), &bob.token))
        .await;
    expect_error(of_nothing, Code::NotFound, "POST_NOT_FOUND");
    let by_bob = client
        .update_post(authenticated(change(post.id, ""), &bob.token))
        .await;
    expect_error(by_bob, Code::PermissionDenied, "ROLE_INSUFFICIENT");
    let invalid = client
        .update_post(authenticated(change(post.id, ""), &ann.token))
        .await;
    let status = expect_error(invalid, Code::InvalidArgument, "POST_INVALID");
    assert_eq!(status.message(), "Title must have 1 to 200 characters.");
    let request = DeletePostRequest { post_id: post.id };
    let by_bob = client.delete_post(authenticated(request, &bob.token)).await;
    expect_error(by_bob, Code::PermissionDenied, "ROLE_INSUFFICIENT");

    let many = BatchGetPostsRequest {
        post_ids: vec![1; 65],
    };
    let refused = client.batch_get_posts(many).await;
    expect_error(refused, Code::InvalidArgument, "REQUEST_INVALID");
    for (page_size, after) in [(-1, 0), (201, 0), (1, -1)] {
        let refused = client
            .list_posts(ListPostsRequest {
                page_size,
                after,
                author_id: None,
            })
            .await;
        expect_error(refused, Code::InvalidArgument, "REQUEST_INVALID");
    }
    app.database.delete("ann").await;
    let by_stranger = client
        .update_post(authenticated(change(post.id, "t"), &ann.token))
        .await;
    expect_error(by_stranger, Code::Unauthenticated, "TOKEN_USER_NOT_FOUND");
    let read = client
        .get_post(GetPostRequest { post_id: post.id })
        .await
        .expect("read");
    let expected = Post {
        author: None,
        ..post
    };
    assert_eq!(
        read.into_inner().post,
        Some(expected),
        "nothing has changed it"
    );
}

async fn health_and_reflection_name_the_service(setup: TestSetup) {
    let app = setup.start().await;
    let channel = grpc::channel(&app.posts_address()).await;
    let health = HealthClient::new(channel.clone());
    for service in ["", "rolegate.posts.v1.PostService"] {
        eventually("serving", async || {
            let request = HealthCheckRequest {
                service: service.to_owned(),
            };
            let response = health
                .clone()
                .check(request)
                .await
                .expect("a response")
                .into_inner();
            (response.status() == ServingStatus::Serving).then_some(())
        })
        .await;
    }
    let services = grpc::services(channel).await;
    assert!(
        services
            .iter()
            .any(|name| name == "rolegate.posts.v1.PostService"),
        "{services:?}"
    );
    assert!(
        !services
            .iter()
            .any(|name| name == "rolegate.auth.v1.AuthService"),
        "{services:?}"
    );
}
