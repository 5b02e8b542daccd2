//! One request makes one trace, through both services down to the query.

use e2e::{
    CollectedSpan, Collector, Store, TestApp, TestSetup, for_all_deployments, for_two_deployments,
};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

for_all_deployments!(authorization_is_one_trace_from_http_to_the_query);
for_two_deployments!(
    login_is_one_trace_without_credentials,
    login_shows_its_wait_its_hash_and_its_statements,
    traceparent_is_followed_only_from_a_trusted_proxy,
);

async fn traced(setup: TestSetup) -> (TestApp, Collector) {
    let collector = Collector::start().await;
    let setup = setup
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        // Spans are exported soon, so that tests do not wait long.
        .with("OTEL_BSP_SCHEDULE_DELAY", "50");
    (setup.start().await, collector)
}

/// Returns the span with this name and this parent, in the trace of the parent.
async fn child(collector: &Collector, name: &str, parent: &CollectedSpan) -> CollectedSpan {
    let what = format!(
        "a span {name} below {parent:?}, not {:?}",
        collector.spans()
    );
    let found = collector
        .span(&what, |span| {
            span.name == name && span.parent_id == parent.span_id
        })
        .await;
    assert_eq!(found.trace_id, parent.trace_id);
    found
}

fn expect(span: &CollectedSpan, attributes: &[(&str, &str)]) {
    let expected: BTreeMap<&str, &str> = attributes.iter().copied().collect();
    for (name, value) in expected {
        assert_eq!(
            span.attributes.get(name).map(String::as_str),
            Some(value),
            "{name}: {span:?}"
        );
    }
}

const AUTH: &str = "rolegate.auth.v1.AuthService";

async fn authorization_is_one_trace_from_http_to_the_query(setup: TestSetup) {
    let (system, is_apart) = (system(setup.store()), !setup.is_all_in_one());
    let (app, collector) = traced(setup).await;
    let admin = app.admin().await;
    let response = app.bearer.with_token(&admin.token).get("/admin").await;
    let id = response
        .expect(200)
        .header("x-request-id")
        .expect("an id")
        .to_owned();

    let root = collector
        .span("the request", |span| span.name == "GET /admin")
        .await;
    assert_eq!(root.parent_id, "", "it has a parent: {root:?}");
    expect(
        &root,
        &[
            ("http.request.method", "GET"),
            ("http.route", "/admin"),
            ("http.response.status_code", "200"),
            ("client.address", "127.0.0.1"),
            ("rolegate.request_id", &id),
        ],
    );
    let name = format!("{AUTH}/Authorize");
    let call = child(&collector, &name, &root).await;
    let served = child(&collector, &name, &call).await;
    for span in [&call, &served] {
        let rpc = [
            ("rpc.system", "grpc"),
            ("rpc.service", AUTH),
            ("rpc.method", "Authorize"),
        ];
        expect(span, &rpc);
        expect(span, &[("rpc.grpc.status_code", "0")]);
    }
    let query = child(&collector, "SELECT user", &served).await;
    expect(
        &query,
        &[("db.system.name", system), ("db.operation.name", "SELECT")],
    );
    expect(&query, &[("db.collection.name", "user")]);
    let spans = [&root, &call, &served, &query];
    let services = spans.map(|span| span.service.as_str());
    let (gateway, auth) = ("rolegate-gateway", "rolegate-auth-service");
    let apart = [gateway, gateway, auth, auth];
    assert_eq!(services, if is_apart { apart } else { ["rolegate"; 4] });
    let of = |span: &CollectedSpan, name: &str| span.resource.get(name).cloned().expect("set");
    for span in spans {
        let version = concat!(env!("CARGO_PKG_VERSION"), "+");
        assert!(of(span, "service.version").starts_with(version));
        assert_eq!(of(span, "service.instance.id").len(), 36);
    }
    let is_same = of(&root, "service.instance.id") == of(&query, "service.instance.id");
    assert_eq!(is_same, !is_apart, "an id for each process");
}

async fn login_shows_its_wait_its_hash_and_its_statements(setup: TestSetup) {
    let (app, collector) = traced(setup).await;
    let admin = app.admin().await;
    let name = format!("{AUTH}/Login");
    let root = collector
        .span("the request", |span| span.name == "POST /login")
        .await;
    let served = child(&collector, &name, &child(&collector, &name, &root).await).await;
    for phase in ["password wait", "password hash", "SELECT user"] {
        child(&collector, phase, &served).await;
    }
    let ann = app.user("ann").await;
    app.set_role(&admin, &ann, "author").await.expect(200);
    let name = format!("{AUTH}/SetUserRole");
    let is_request = |span: &CollectedSpan| span.name == "PUT /users/{user_id}/role";
    let root = collector.span("the request", is_request).await;
    let served = child(&collector, &name, &child(&collector, &name, &root).await).await;
    let write = child(&collector, "UPDATE user", &served).await;
    expect(
        &write,
        &[
            ("db.operation.name", "UPDATE"),
            ("db.collection.name", "user"),
        ],
    );
    let post = serde_json::json!({ "title": "Title", "content": "Content." });
    app.bearer
        .with_token(&admin.token)
        .post("/posts", &post)
        .await
        .expect(201);
    collector
        .span("the insert", |span| span.name.starts_with("INSERT "))
        .await;
}

async fn login_is_one_trace_without_credentials(setup: TestSetup) {
    let (app, collector) = traced(setup).await;
    app.try_log_in("ann", "planted-password").await.expect(401);
    let root = collector
        .span("the request", |span| span.name == "POST /login")
        .await;
    let name = format!("{AUTH}/Login");
    let call = child(&collector, &name, &root).await;
    let served = child(&collector, &name, &call).await;
    expect(&served, &[("rpc.grpc.status_code", "16")]);
    assert!(!served.is_error, "a refusal is a response: {served:?}");
    assert!(call.is_error, "to the caller it is an error: {call:?}");
    app.bearer
        .get("/no/such/planted-password")
        .await
        .expect(404);
    collector
        .span("the other request", |span| span.name == "GET")
        .await;
    let all = format!("{:?}", collector.spans());
    assert!(!all.contains("planted") && !all.contains("ann\""), "{all}");
}

async fn traceparent_is_followed_only_from_a_trusted_proxy(setup: TestSetup) {
    let trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    for (proxies, is_followed) in [("192.0.2.0/24", false), ("127.0.0.0/8", true)] {
        let (app, collector) = traced(setup.clone().with("TRUSTED_PROXIES", proxies)).await;
        let request = app.bearer.request(reqwest::Method::GET, "/public");
        let traceparent = format!("00-{trace_id}-00f067aa0ba902b7-01");
        let request = request
            .header("traceparent", traceparent)
            .header("tracestate", "a=1,b=2");
        app.bearer.send(request).await.expect(200);
        let root = collector
            .span("the request", |span| span.name == "GET /public")
            .await;
        assert_eq!(root.trace_id == trace_id, is_followed, "{root:?}");
        assert_eq!(
            root.parent_id == "00f067aa0ba902b7",
            is_followed,
            "{root:?}"
        );
        assert_eq!(root.trace_state == "a=1,b=2", is_followed, "{root:?}");
    }
}

#[tokio::test]
async fn pending_spans_are_exported_at_shutdown_and_a_hanging_collector_does_not_delay_it() {
    let collector = Collector::start().await;
    // The kernel accepts connections to this port, but nothing answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = format!("http://{}", silent.local_addr().expect("bound"));
    let mut durations = Vec::new();
    for url in [collector.url(), silent] {
        let setup = TestSetup::all_in_one(Store::Sqlite)
            .with("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
            .with("OTEL_SERVICE_NAME", "another-name")
            .with("OTEL_BSP_SCHEDULE_DELAY", "3600000");
        let app = setup.start().await;
        app.bearer.get("/public").await.expect(200);
        let (processes, _database) = app.into_processes();
        for process in processes {
            let started = Instant::now();
            process.terminate();
            let exit = process.exit().await;
            assert_eq!(exit.code, Some(0), "{}", exit.stderr);
            durations.push(started.elapsed());
        }
    }
    let [healthy, hanging] = durations[..] else {
        panic!("one process each")
    };
    // The exporter alone would wait 10 seconds.
    assert!(
        hanging < healthy * 4 + Duration::from_secs(8),
        "{hanging:?}, {healthy:?} without"
    );
    let spans = collector.spans();
    let one = spans
        .iter()
        .find(|span| span.name == "GET /public")
        .expect("exported at shutdown");
    assert_eq!(one.service, "another-name");
}

fn system(store: Store) -> &'static str {
    match store {
        Store::Postgres => "postgresql",
        Store::Sqlite => "sqlite",
    }
}
