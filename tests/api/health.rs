//! The operations listener with its probes, gRPC health checks and reflection.

use e2e::{
    Api, Store, TestSetup, eventually, for_all_deployments, for_one_deployment,
    for_two_deployments, grpc,
};
use sqlx::{Connection as _, SqliteConnection};
use tokio_stream::once;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

for_all_deployments!(serving_process_is_live_and_ready);
for_two_deployments!(
    grpc_health_reports_serving,
    reflection_lists_the_service_in_v1_and_v1alpha
);
for_one_deployment!(reflection_describes_the_details_of_errors);

const SERVICE: &str = "rolegate.auth.v1.AuthService";

async fn serving_process_is_live_and_ready(setup: TestSetup) {
    let app = setup.start().await;
    for process in app.processes() {
        let ops = Api::at(&process.address("ops"));
        ops.get("/livez").await.expect(200);
        process.wait_for_readiness(200).await;
        ops.get("/profile").await.expect(404);
    }
}

#[tokio::test]
async fn health_checks_write_no_sqlite_file() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    // The start writes to the database: it reads the time, which stores the clock, and it creates a
    // user, whose row is sealed and who gets a search key.
    for rows in [
        "SELECT 1 FROM clock WHERE latest > 0",
        "SELECT 1 FROM audit_seal WHERE revision > 0",
        r#"SELECT 1 FROM "user" WHERE search_key = 'admin'"#,
    ] {
        eventually(rows, async || {
            let written = app.database.count_rows(rows).await;
            (written == 1).then_some(())
        })
        .await;
    }
    let connect = async |url: String| SqliteConnection::connect(&url).await.expect("opened");
    let mut files = [
        connect(app.database.url()).await,
        connect(app.database.posts_url()).await,
    ];
    // `data_version` changes with each commit by another connection.
    let versions = async |files: &mut [SqliteConnection; 2]| {
        let [users, posts] = files
            .each_mut()
            .map(|file| sqlx::query_scalar::<_, i64>("PRAGMA data_version").fetch_one(file));
        [users.await.expect("read"), posts.await.expect("read")]
    };
    let before = versions(&mut files).await;
    for (process, file) in [
        (app.auth(), app.database.file()),
        (app.posts(), app.database.file().with_file_name("posts.db")),
    ] {
        let ops = Api::at(&process.address("ops"));
        for _ in 0..100 {
            ops.get("/livez").await.expect(200);
            ops.get("/readyz").await.expect(200);
        }
        // To notice that the file is back, the service runs a complete check, which must not write
        // either.
        let elsewhere = file.with_extension("elsewhere");
        std::fs::rename(&file, &elsewhere).expect("renamed");
        process.wait_for_readiness(503).await;
        std::fs::rename(&elsewhere, &file).expect("renamed");
        process.wait_for_readiness(200).await;
    }
    assert_eq!(versions(&mut files).await, before);
    app.user("ann").await;
    let after = versions(&mut files).await;
    assert!(
        after[0] != before[0] && after[1] == before[1],
        "{before:?} {after:?}"
    );
    let clocks = "SELECT count(*) FROM sqlite_master WHERE name = 'clock'";
    let of_posts: i64 = sqlx::query_scalar(clocks)
        .fetch_one(&mut files[1])
        .await
        .expect("read");
    assert_eq!(of_posts, 0, "posts-service needs no clock");
}

async fn grpc_health_reports_serving(setup: TestSetup) {
    let app = setup.start().await;
    let client = HealthClient::new(grpc::channel(&app.auth().address("grpc")).await);
    for service in ["", SERVICE] {
        eventually("serving", async || {
            let request = HealthCheckRequest {
                service: service.to_owned(),
            };
            let response = client
                .clone()
                .check(request)
                .await
                .expect("a response")
                .into_inner();
            (response.status() == ServingStatus::Serving).then_some(())
        })
        .await;
    }
    let unknown = HealthCheckRequest {
        service: "unknown".to_owned(),
    };
    let refusal = client
        .clone()
        .check(unknown)
        .await
        .expect_err("it is unknown");
    assert_eq!(refusal.code(), tonic::Code::NotFound);
}

/// Lists the services by either version of the reflection API, which has the same messages in two
/// packages.
macro_rules! listed {
    ($version:ident, $app:expr) => {{
        use $version::{
            ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
            server_reflection_request::MessageRequest::{FileContainingSymbol, ListServices},
            server_reflection_response::MessageResponse::{
                FileDescriptorResponse, ListServicesResponse,
            },
        };
        let channel = grpc::channel(&$app.auth().address("grpc")).await;
        let mut client = ServerReflectionClient::new(channel);
        let mut responses = Vec::new();
        for question in [ListServices(String::new()), FileContainingSymbol(SERVICE.to_owned())] {
            let request =
                ServerReflectionRequest { host: String::new(), message_request: Some(question) };
            let stream = client.server_reflection_info(once(request)).await;
            let response = stream.expect("a response").into_inner().message().await;
            responses.push(response.expect("a message").expect("one").message_response);
        }
        let file = matches!(responses.pop(), Some(Some(FileDescriptorResponse(files)))
            if !files.file_descriptor_proto.is_empty());
        assert!(file, "the file of {SERVICE} is described");
        match responses.pop().flatten() {
            Some(ListServicesResponse(list)) => {
                list.service.into_iter().map(|service| service.name).collect::<Vec<_>>()
            }
            other => panic!("not a list of services: {other:?}"),
        }
    }};
}

async fn reflection_lists_the_service_in_v1_and_v1alpha(setup: TestSetup) {
    let app = setup.start().await;
    for services in [listed!(v1, app), listed!(v1alpha, app)] {
        assert!(services.iter().any(|name| name == SERVICE), "{services:?}");
        assert!(
            services.iter().any(|name| name == "grpc.health.v1.Health"),
            "{services:?}"
        );
    }
}

async fn reflection_describes_the_details_of_errors(setup: TestSetup) {
    use v1::{
        server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest,
        server_reflection_response::MessageResponse::FileDescriptorResponse,
    };
    let app = setup.start().await;
    for address in [app.auth().address("grpc"), app.posts_address()] {
        let channel = grpc::channel(&address).await;
        for name in ["google.rpc.ErrorInfo", "google.rpc.RetryInfo"] {
            let question = MessageRequest::FileContainingSymbol(name.to_owned());
            let request = v1::ServerReflectionRequest {
                host: String::new(),
                message_request: Some(question),
            };
            let stream = ServerReflectionClient::new(channel.clone())
                .server_reflection_info(once(request))
                .await;
            let response = stream.expect("a response").into_inner().message().await;
            let response = response.expect("a message").expect("one").message_response;
            assert!(
                matches!(response, Some(FileDescriptorResponse(_))),
                "{name}: {response:?}"
            );
        }
    }
}
