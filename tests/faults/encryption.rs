//! Who may speak to auth-service where gRPC is encrypted, and what everybody else gets.

use auth_proto::auth_v1::{LoginRequest, auth_service_client::AuthServiceClient};
use e2e::{
    ADMIN_PASSWORD, Authority, Certificate, Plan, Process, Store, TestDatabase, Valid, World,
    eventually, within_bounds,
};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_stream::once;
use tonic::{
    Request, Status,
    transport::{Channel, ClientTlsConfig, Endpoint},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest::ListServices,
};
use tonic_types::StatusExt as _;

/// An authority, and the certificates of both ends.
struct Certified {
    authority: Authority,
    own: Certificate,
    caller: Certificate,
}

impl Certified {
    fn new() -> Self {
        let authority = Authority::new();
        let own = authority.certify("auth-service", &["127.0.0.1", "localhost"], Valid::Today);
        let caller = authority.certify("gateway", &[], Valid::Today);
        Self { authority, own, caller }
    }

    fn of(&self, plan: Plan) -> Plan {
        plan.with_tls(&self.authority, &self.own, &self.caller)
    }

    fn good_client(&self) -> ClientTlsConfig {
        self.authority.client(Some(&self.caller))
    }
}

fn login_request(password: &str) -> LoginRequest {
    LoginRequest { username: "admin".to_owned(), password: password.to_owned() }
}

async fn channel(address: &str, tls: Option<ClientTlsConfig>) -> Result<Channel, String> {
    let mut endpoint = Endpoint::from_shared(address.to_owned()).expect("a URL");
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls).expect("good certificates");
    }
    endpoint.connect().await.map_err(|error| format!("{error:?}"))
}

/// Everything that the port offers; in TLS 1.3 a client believes to be connected before the server
/// has seen its certificate, so only an answer tells.
async fn everything(channel: &Channel) -> [Result<(), Status>; 3] {
    let login = AuthServiceClient::new(channel.clone()).login(login_request(ADMIN_PASSWORD)).await;
    let health = HealthClient::new(channel.clone()).check(HealthCheckRequest::default()).await;
    let question = Some(ListServices(String::new()));
    let question = ServerReflectionRequest { host: String::new(), message_request: question };
    let mut reflection = ServerReflectionClient::new(channel.clone());
    let reflection = async {
        let answers = reflection.server_reflection_info(once(question)).await?;
        answers.into_inner().message().await.map(drop)
    };
    [login.map(drop), health.map(drop), reflection.await]
}

async fn expect_everything(address: &str, tls: ClientTlsConfig) {
    let channel = channel(address, Some(tls)).await.expect("a good certificate");
    for answer in everything(&channel).await {
        answer.expect("a good certificate");
    }
}

async fn expect_nothing(address: &str, tls: Option<ClientTlsConfig>, who: &str) {
    let Ok(channel) = channel(address, tls).await else { return };
    for answer in everything(&channel).await {
        let status = answer.expect_err(who);
        assert!(status.get_details_error_info().is_none(), "{who} was answered: {status:?}");
    }
}

async fn only_who_shows_a_good_certificate_gets_more_than_a_handshake(plan: Plan) {
    let certified = Certified::new();
    let world = certified.of(plan).start().await;
    let address = world.auth().address("grpc");
    assert!(address.starts_with("https://"), "{address}");
    let Certified { authority, .. } = &certified;
    let elsewhere = Authority::new();
    let stranger = elsewhere.certify("stranger", &[], Valid::Today);
    let expired = authority.certify("expired", &[], Valid::Once);
    for (who, tls) in [
        ("nobody", Some(authority.client(None))),
        ("one of another authority", Some(authority.client(Some(&stranger)))),
        ("one whose time is over", Some(authority.client(Some(&expired)))),
    ] {
        expect_nothing(&address, tls, who).await;
    }
    let unencrypted = address.replace("https", "http");
    expect_nothing(&unencrypted, None, "a client without TLS").await;
    let mut garbage = TcpStream::connect(world.auth().socket_address("grpc")).await.expect("open");
    garbage.write_all(&[0xff; 4096]).await.expect("sent");
    let _ = within_bounds("the end", garbage.read_to_end(&mut Vec::new())).await;
    expect_everything(&address, certified.good_client()).await;
    assert!(!world.auth().stderr().contains("panicked"), "{}", world.auth().stderr());
}

#[tokio::test]
async fn only_who_shows_a_good_certificate_gets_more_than_a_handshake_in_two_processes() {
    let plan = Plan::in_two_processes(Store::Sqlite);
    only_who_shows_a_good_certificate_gets_more_than_a_handshake(plan).await;
}

#[tokio::test]
async fn only_who_shows_a_good_certificate_gets_more_than_a_handshake_in_one_process() {
    let plan = Plan::in_one_process(Store::Sqlite);
    only_who_shows_a_good_certificate_gets_more_than_a_handshake(plan).await;
}

#[tokio::test]
async fn who_connects_and_says_nothing_keeps_nobody_out() {
    let certified = Certified::new();
    let world = certified.of(Plan::in_two_processes(Store::Sqlite)).start().await;
    let address = world.auth().socket_address("grpc");
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(address).await.expect("the kernel answers"));
    }
    let url = world.auth().address("grpc");
    let good = expect_everything(&url, certified.good_client());
    // Well before the silent ones are let go.
    tokio::time::timeout(Duration::from_secs(8), good).await.expect("nobody waits for them");
    drop(silent);
}

#[tokio::test]
async fn a_tls_client_at_a_plain_port_ends_clean() {
    let certified = Certified::new();
    let world = Plan::in_two_processes(Store::Sqlite).start().await;
    let address = world.auth().address("grpc");
    let encrypted = address.replace("http", "https");
    expect_nothing(&encrypted, Some(certified.good_client()), "a client with TLS").await;
    let channel = channel(&address, None).await.expect("plain text");
    for answer in everything(&channel).await {
        answer.expect("still served");
    }
}

/// The gateway does not believe that it speaks to auth-service, until auth-service shows a
/// certificate that proves it.
#[tokio::test]
async fn a_gateway_trusts_only_who_proves_to_be_its_auth_service() {
    for (why, other, hosts, valid) in [
        ("another authority", true, &["127.0.0.1"][..], Valid::Today),
        ("another name", false, &["auth.example", "127.0.0.2"], Valid::Today),
        ("too old", false, &["127.0.0.1"], Valid::Once),
    ] {
        let certified = Certified::new();
        let elsewhere = Authority::new();
        let signer = if other { &elsewhere } else { &certified.authority };
        let wrong = signer.certify("wrong", hosts, valid);
        let good = certified.authority.certify("good", &["127.0.0.1"], Valid::Today);
        certified.own.replace_with(&wrong);
        let world = certified.of(Plan::in_two_processes(Store::Sqlite)).start().await;
        let answer = world.try_log_in("admin", ADMIN_PASSWORD).await;
        answer.expect_detail(503, "Service temporarily unavailable.");
        let complaint = "no secure connection to auth-service";
        world.front().logs(why, |line| line.contains(complaint) && line.contains("WARN")).await;

        // Mended without a restart of either.
        certified.own.replace_with(&good);
        world.auth().hang_up();
        world.auth().logs(why, |line| line.contains("certificates of gRPC were read again")).await;
        eventually("auth-service to be trusted", async || {
            let answer = world.try_log_in("admin", ADMIN_PASSWORD).await;
            (answer.status == 200).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn certificates_that_cannot_be_read_change_nothing() {
    let certified = Certified::new();
    let world = certified.of(Plan::in_two_processes(Store::Sqlite)).start().await;
    let other = certified.authority.certify("other", &["127.0.0.1"], Valid::Today);
    std::fs::copy(&other.key, &certified.own.key).expect("copied");
    std::fs::write(&certified.caller.certificate, "no certificate").expect("written");
    for process in world.processes() {
        process.hang_up();
        process.logs("that they stay", |line| line.contains("certificates of gRPC stay")).await;
    }
    let log = world.auth().stderr() + &world.front().stderr();
    for said in ["is not the key of", "holds no certificate"] {
        assert!(log.contains(said), "nothing says {said}: {log}");
    }
    world.admin().await;
    let (_, way) = world.auth_and_way();
    // New connections too are made with what was read before.
    way.cut();
    eventually("the outage", async || {
        (world.try_log_in("admin", ADMIN_PASSWORD).await.status == 503).then_some(())
    })
    .await;
    let mut world = world;
    world.auth_proxy().open();
    eventually("the way back", async || {
        (world.try_log_in("admin", ADMIN_PASSWORD).await.status == 200).then_some(())
    })
    .await;
}

/// Guesses wrong four times for one client, then once for another.
async fn last_reason(world: &World, tls: ClientTlsConfig) -> String {
    let channel = channel(&world.auth().address("grpc"), Some(tls)).await.expect("connected");
    let mut client = AuthServiceClient::new(channel);
    let mut reason = String::new();
    for end_user in ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"] {
        let mut request = Request::new(login_request("wrong"));
        request.metadata_mut().insert("x-client-address", end_user.parse().expect("text"));
        let status = client.login(request).await.expect_err("a wrong password");
        reason = status.get_details_error_info().expect("a refusal of ours").reason;
    }
    reason
}

#[tokio::test]
async fn a_verified_certificate_makes_a_caller_trusted_and_encryption_alone_does_not() {
    let certified = Certified::new();
    let plan = || {
        let plan = Plan::in_two_processes(Store::Sqlite).with("LOGIN_FAILURE_LIMIT", "3");
        plan.with("TRUSTED_GATEWAYS", "192.0.2.0/24")
    };
    let world = certified.of(plan()).start().await;
    assert_eq!(last_reason(&world, certified.good_client()).await, "CREDENTIALS_INVALID");

    let own = &certified.own;
    let one_sided = plan()
        .with("AUTH_TLS_CERT_FILE", &own.certificate.display().to_string())
        .with("AUTH_TLS_KEY_FILE", &own.key.display().to_string())
        .with("AUTH_CLIENT_TLS_CA_FILE", &certified.authority.file().display().to_string());
    let world = one_sided.start().await;
    world.admin().await;
    // A certificate that nobody asked for proves nothing.
    assert_eq!(last_reason(&world, certified.good_client()).await, "TOO_MANY_ATTEMPTS");
}

#[tokio::test]
async fn plain_text_that_others_could_read_is_warned_of() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let warns = |log: &str| log.matches("gRPC is not encrypted here").count();
    for plan in [Plan::in_one_process(Store::Sqlite), Plan::in_two_processes(Store::Sqlite)] {
        let start = async |plan: &Plan| {
            let settings = plan.auth_settings(&database.url());
            let process = Process::start(plan.auth_program(), &settings, folder.path());
            let process = process.ready().await;
            let port = process.socket_address("grpc").port();
            let address = process.address("grpc").replace("0.0.0.0", "127.0.0.1");
            assert!(address.ends_with(&port.to_string()), "{address}");
            (process, address)
        };
        let open = plan.clone().with("AUTH_LISTEN_ADDR", "0.0.0.0:0");
        let (process, _) = start(&open).await;
        process.logs("a warning", |line| warns(line) == 1 && line.contains("WARN")).await;
        assert_eq!(warns(&process.stderr()), 1);

        let (process, address) = start(&plan).await;
        channel(&address, None).await.expect("it serves");
        assert_eq!(warns(&process.stderr()), 0, "on loopback");
        let certified = Certified::new();
        let (process, address) = start(&certified.of(open)).await;
        expect_everything(&address, certified.good_client()).await;
        assert_eq!(warns(&process.stderr()), 0, "encrypted");
    }
}
