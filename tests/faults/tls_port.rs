//! Helpers for the tests of TLS: deployments with mutual TLS, and calls of their gRPC ports.

use e2e::{ADMIN_PASSWORD, Authority, Certificate, Process, TestApp, TestSetup, Validity};
use rolegate_proto::{
    auth_v1::{LoginRequest, auth_service_client::AuthServiceClient},
    posts_v1::{ListPostsRequest, post_service_client::PostServiceClient},
};
use tokio_stream::once;
use tonic::{
    Status,
    transport::{Channel, ClientTlsConfig, Endpoint},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest::ListServices,
};
use tonic_types::StatusExt as _;

/// A certificate authority, and its certificates for servers and clients.
pub(crate) struct Certified {
    pub(crate) authority: Authority,
    /// The certificate of the servers.
    pub(crate) own: Certificate,
    /// The certificate of the clients.
    pub(crate) caller: Certificate,
}

impl Certified {
    pub(crate) fn new() -> Self {
        let authority = Authority::new();
        let own = authority.issue("own", &["127.0.0.1", "localhost"], Validity::Current);
        let caller = authority.issue("gateway", &[], Validity::Current);
        Self {
            authority,
            own,
            caller,
        }
    }

    pub(crate) fn of(&self, setup: TestSetup) -> TestSetup {
        setup.with_tls(&self.authority, &self.own, &self.caller)
    }

    pub(crate) fn good_client(&self) -> ClientTlsConfig {
        self.authority.client(Some(&self.caller))
    }
}

/// One of the two gRPC services.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Port {
    Auth,
    Posts,
}

impl Port {
    pub(crate) fn process(self, app: &TestApp) -> &Process {
        match self {
            Self::Auth => app.auth(),
            Self::Posts => app.posts(),
        }
    }

    /// Returns the URL of the port.
    pub(crate) fn address(self, app: &TestApp) -> String {
        match self {
            Self::Auth => app.auth().address("grpc"),
            Self::Posts => app.posts_address(),
        }
    }

    /// Makes a call that needs no token.
    async fn call(self, channel: Channel) -> Result<(), Status> {
        match self {
            Self::Auth => {
                let mut client = AuthServiceClient::new(channel);
                client.login(login_request(ADMIN_PASSWORD)).await.map(drop)
            }
            Self::Posts => {
                let mut client = PostServiceClient::new(channel);
                client
                    .list_posts(ListPostsRequest::default())
                    .await
                    .map(drop)
            }
        }
    }

    /// Calls every service of the port. In TLS 1.3, a client is connected before the server has verified its
    /// certificate, so only a response proves that it is accepted.
    async fn everything(self, channel: &Channel) -> [Result<(), Status>; 3] {
        let call = self.call(channel.clone()).await;
        let health = HealthClient::new(channel.clone())
            .check(HealthCheckRequest::default())
            .await;
        let question = Some(ListServices(String::new()));
        let question = ServerReflectionRequest {
            host: String::new(),
            message_request: question,
        };
        let mut reflection = ServerReflectionClient::new(channel.clone());
        let reflection = async {
            let responses = reflection.server_reflection_info(once(question)).await?;
            responses.into_inner().message().await.map(drop)
        };
        [call, health.map(drop), reflection.await]
    }

    pub(crate) async fn expect_everything(self, address: &str, tls: Option<ClientTlsConfig>) {
        let channel = channel(address, tls).await.expect("it is let in");
        for response in self.everything(&channel).await {
            response.expect("it is let in");
        }
    }

    pub(crate) async fn expect_nothing(
        self,
        address: &str,
        tls: Option<ClientTlsConfig>,
        client: &str,
    ) {
        let Ok(channel) = channel(address, tls).await else {
            return;
        };
        for response in self.everything(&channel).await {
            let status = response.expect_err(client);
            assert!(
                status.get_details_error_info().is_none(),
                "{client} got a response: {status:?}"
            );
        }
    }
}

pub(crate) fn login_request(password: &str) -> LoginRequest {
    LoginRequest {
        username: "admin".to_owned(),
        password: password.to_owned(),
        otp: None,
    }
}

/// Opens a connection for a generated client.
pub(crate) async fn channel(
    address: &str,
    tls: Option<ClientTlsConfig>,
) -> Result<Channel, String> {
    let mut endpoint = Endpoint::from_shared(address.to_owned()).expect("a URL");
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls).expect("good certificates");
    }
    endpoint
        .connect()
        .await
        .map_err(|error| format!("{error:?}"))
}
