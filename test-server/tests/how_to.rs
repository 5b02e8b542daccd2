//! The test that `docs/how-to/test-against-the-real-thing.md` shows, with a server of its own.

use rolegate_auth_client::{
    AuthClient, CallContext, Reason, Requirement, Role,
    testing::{Control, TestServer},
};

#[tokio::test]
async fn token_expires() {
    let program = &mut TestServer::program();
    let server = TestServer::start(program.args(["--user", "ada:open sesame:author"]));
    let auth = AuthClient::connect_lazy(&server.addresses["grpc"]).expect("a URL");
    let login = auth
        .login("ada", &"open sesame".into(), None, CallContext::default())
        .await;
    let (token, _) = login.expect("a login");
    let author = Requirement::Roles(&[Role::AUTHOR]);
    let decide = || auth.authorize(&token, author, CallContext::default());
    assert!(decide().await.is_ok());
    server.control(&Control::Clock {
        advance_seconds: 1801,
    });
    assert_eq!(
        decide().await.expect_err("expired").reason(),
        Some(Reason::TokenInvalid)
    );
}
