//! The gRPC call `BatchVerifyCredentials`.

use super::client;
use crate::{
    api_keys::create_key,
    metrics::{scrape, value},
};
use e2e::{ADMIN_PASSWORD, TestSetup, for_all_deployments, grpc::expect_error};
use rolegate_proto::{
    auth_v1::{
        BatchVerifyCredentialsRequest, VerifyCredentialsRequest,
        auth_service_client::AuthServiceClient,
    },
    metadata::CLIENT_ADDRESS,
};
use serde_json::json;
use tonic::{Code, Request, metadata::MetadataValue, transport::Channel};

for_all_deployments!(
    a_batch_has_the_users_that_their_own_clients_made_known_to_trusted_callers_only,
    a_hundred_guesses_in_batches_end_what_is_remembered_until_the_password_is_right,
    a_batch_has_the_users_of_live_keys_at_first_sight_for_trusted_callers_only,
);

fn item(username: &str, password: &str, client: Option<&str>) -> VerifyCredentialsRequest {
    VerifyCredentialsRequest {
        username: username.to_owned(),
        password: password.to_owned(),
        role_names: vec!["user".to_owned()],
        client_address: client.map(str::to_owned),
        accept_api_keys: false,
        group_names: Vec::new(),
    }
}

async fn a_batch_has_the_users_that_their_own_clients_made_known_to_trusted_callers_only(
    setup: TestSetup,
) {
    for is_trusted in [true, false] {
        let network = if is_trusted {
            "127.0.0.0/8"
        } else {
            "198.51.100.0/24"
        };
        // `rolegate` trusts only its own gateway.
        let is_trusted = is_trusted && !setup.is_all_in_one();
        let app = setup
            .clone()
            .with("TRUSTED_GATEWAYS", network)
            .start()
            .await;
        let (ann, bob) = (app.user("ann").await, app.user("bob").await);
        let (ann, bob) = (&*ann.password, &*bob.password);
        let mut client = client(&app).await;
        for (username, password, address) in [
            ("ann", ann, Some("192.0.2.1")),
            ("bob", bob, Some("2001:db8::1")),
            ("admin", ADMIN_PASSWORD, None),
        ] {
            let mut request = Request::new(item(username, password, None));
            if let Some(address) = address {
                let value = MetadataValue::from_static(address);
                request.metadata_mut().insert(CLIENT_ADDRESS, value);
            }
            client.verify_credentials(request).await.expect("verified");
        }
        let unknown_role = VerifyCredentialsRequest {
            role_names: vec!["user".to_owned(), "planted".to_owned()],
            ..item("ann", ann, Some("192.0.2.1"))
        };
        let (home, long) = (Some("192.0.2.1"), "x".repeat(2000));
        let items = vec![
            item("ann", ann, home),
            item("ann", "wrong", home),
            item("stranger", ann, home),
            item("bob", bob, home),
            item("bob", bob, Some("2001:db8::2")),
            item(&long, &long, home),
            item("", "\0", home),
            item("a\0", ann, home),
            unknown_role,
            item("ann", ann, Some("192.0.2.1:80")),
            item("ann", ann, None),
            item("admin", ADMIN_PASSWORD, None),
            item("admin", ADMIN_PASSWORD, Some("\n")),
        ];
        let expected = [
            "ann", "", "", "", "bob", "", "", "", "", "", "", "admin", "admin",
        ];
        let request = BatchVerifyCredentialsRequest {
            items: items.clone(),
        };
        let recalled = client
            .batch_verify_credentials(request)
            .await
            .expect("read")
            .into_inner();
        let names = recalled
            .outcomes
            .into_iter()
            .map(|it| it.user.unwrap_or_default().username);
        let expected = expected.map(|name| if is_trusted { name } else { "" });
        assert_eq!(names.collect::<Vec<_>>(), expected, "{network}");

        for count in [0, 256] {
            let items = vec![items[0].clone(); count];
            let request = BatchVerifyCredentialsRequest { items };
            let recalled = client
                .batch_verify_credentials(request)
                .await
                .expect("read");
            assert_eq!(recalled.into_inner().outcomes.len(), count);
        }
        let items = vec![items[0].clone(); 257];
        let outcome = client.batch_verify_credentials(BatchVerifyCredentialsRequest { items });
        expect_error(outcome.await, Code::InvalidArgument, "REQUEST_INVALID");
    }
}

async fn a_hundred_guesses_in_batches_end_what_is_remembered_until_the_password_is_right(
    setup: TestSetup,
) {
    // `rolegate` trusts only its own gateway, so it tells this caller nothing from the cache.
    let is_told = !setup.is_all_in_one();
    let setup = setup.with("TRUSTED_GATEWAYS", "127.0.0.0/8");
    let app = setup.with("LOGIN_FAILURE_LIMIT", "3").start().await;
    let ann = app.user("ann").await;
    let mut client = client(&app).await;
    let home = "192.0.2.1";
    let recall =
        async |client: &mut AuthServiceClient<Channel>, passwords: &[&str], address: &str| {
            let items = passwords
                .iter()
                .map(|password| item("ann", password, Some(address)));
            let request = BatchVerifyCredentialsRequest {
                items: items.collect(),
            };
            let recalled = client.batch_verify_credentials(request).await;
            let outcomes = recalled.expect("read").into_inner().outcomes;
            outcomes.iter().filter(|it| it.user.is_some()).count()
        };
    let verify = async |client: &mut AuthServiceClient<Channel>| {
        let mut request = Request::new(item("ann", &ann.password, None));
        let address = MetadataValue::from_static(home);
        request.metadata_mut().insert(CLIENT_ADDRESS, address);
        client.verify_credentials(request).await.expect("verified");
    };
    let right = [&*ann.password];
    verify(&mut client).await;
    assert_eq!(
        recall(&mut client, &right, home).await,
        usize::from(is_told)
    );
    // The guesses are counted for the username, whatever address they come from.
    for guess in 0..20 {
        let address = format!("198.51.100.{guess}");
        assert_eq!(recall(&mut client, &["wrong"; 5], &address).await, 0);
    }
    assert_eq!(recall(&mut client, &right, home).await, 0);
    if is_told {
        let warning = "a hundred wrong passwords in a minute";
        let is_warning = |line: &str| line.contains(warning) && line.contains("ann");
        app.auth().logs("the guesses", is_warning).await;
        let metrics = scrape(app.auth()).await;
        let guesses = value(&metrics, r#"rolegate_limit_refusals_total{limit="basic"}"#);
        assert!(
            (guesses - 2.0).abs() < 0.1,
            "the hundredth, and one more: {guesses}"
        );
    }
    for _ in 0..3 {
        // The guesses did not count as attempts to log in, so the user is not refused.
        verify(&mut client).await;
        assert_eq!(
            recall(&mut client, &right, home).await,
            usize::from(is_told)
        );
    }
    app.basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await
        .expect(200);
}

async fn a_batch_has_the_users_of_live_keys_at_first_sight_for_trusted_callers_only(
    setup: TestSetup,
) {
    for network in ["127.0.0.0/8", "198.51.100.0/24"] {
        // `rolegate` trusts only its own gateway.
        let is_trusted = network == "127.0.0.0/8" && !setup.is_all_in_one();
        let setup = setup.clone().with("TRUSTED_GATEWAYS", network);
        let app = setup.with("LOG_FORMAT", "json").start().await;
        let ann = app.user_with_role("ann", "author").await;
        let body = json!({ "name": "git", "role": "user" });
        let (key, stored) = create_key(&app.bearer.with_token(&ann.token), &body).await;
        let mut client = client(&app).await;
        let home = Some("192.0.2.1");
        let accepting = |username: &str, password: &str| VerifyCredentialsRequest {
            accept_api_keys: true,
            ..item(username, password, home)
        };
        let items = vec![
            accepting("ann", &key),
            accepting("admin", &key),
            accepting("ann", &format!("rgk_{}", "A".repeat(43))),
            accepting("ann", &ann.password),
            item("ann", &key, home),
        ];
        let batch = BatchVerifyCredentialsRequest { items };
        let answer = client.batch_verify_credentials(batch).await.expect("read");
        let outcomes = answer.into_inner().outcomes.into_iter();
        let users: Vec<_> = outcomes
            .map(|outcome| outcome.user.map(|user| (user.username, user.role_name)))
            .collect();
        let known = is_trusted.then(|| ("ann".to_owned(), "user".to_owned()));
        assert_eq!(users, [known, None, None, None, None], "{network}");
        if is_trusted {
            let key_id = format!(r#""key_id":{}"#, stored["id"]);
            let is_use = |line: &str| {
                line.contains("api_key_used")
                    && line.contains(r#""client_address":"192.0.2.1""#)
                    && line.contains(&key_id)
            };
            app.auth().logs("the use of the key", is_use).await;
        }
        // Outside of a batch, a caller needs no trust.
        let alone = accepting("ann", &key);
        let alone = client.verify_credentials(alone).await.expect("a live key");
        assert_eq!(alone.into_inner().user.expect("a user").role_name, "user");
        let refused = client.verify_credentials(item("ann", &key, None)).await;
        expect_error(refused, Code::Unauthenticated, "CREDENTIALS_INVALID");
    }
}
