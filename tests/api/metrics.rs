//! The Prometheus metrics: their values, their format, their documentation and the dashboard.

use e2e::{
    ADMIN_PASSWORD, Api, Process, Program, Store, TestApp, TestSetup, for_all_deployments,
    for_two_deployments,
};
use reqwest::Method;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

for_all_deployments!(requests_and_logins_are_counted);
for_two_deployments!(post_operations_are_counted, no_label_holds_client_input);

/// An environment variable. If it is set, the test fails where promtool is missing instead of
/// skipping.
const DEMANDED: &str = "PROMTOOL";

pub(crate) async fn scrape(process: &Process) -> String {
    let response = Api::at(&process.address("ops")).get("/metrics").await;
    let content_type = response
        .expect(200)
        .header("content-type")
        .unwrap_or_default();
    assert!(
        content_type.starts_with("text/plain; version=0.0.4"),
        "{response}"
    );
    response.body
}

/// Returns the value of a series, which is written as in the exposition format.
#[track_caller]
pub(crate) fn value(metrics: &str, series: &str) -> f64 {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{metrics}"))
        .parse()
        .expect("a number")
}

/// Sends requests so that every metric counts something.
async fn use_everything(app: &TestApp) {
    let ann = app.user("ann").await;
    app.try_log_in("ann", "wrong").await.expect(401);
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect(200);
    app.bearer
        .with_token(&ann.token)
        .get("/admin")
        .await
        .expect(403);
    for _ in 0..2 {
        app.basic
            .with_basic("admin", ADMIN_PASSWORD)
            .get("/protected")
            .await
            .expect(200);
    }
}

async fn requests_and_logins_are_counted(setup: TestSetup) {
    let app = setup.start().await;
    use_everything(&app).await;
    let front = scrape(app.gateway()).await;
    let http = |rest: &str| value(&front, &format!("rolegate_http_requests_total{{{rest}}}"));
    let login = r#"method="POST",route="/login",status="401",variant="bearer""#;
    assert!((http(login) - 1.0).abs() < 0.1);
    let protected = r#"method="GET",route="/protected",status="200",variant="basic""#;
    assert!((http(protected) - 2.0).abs() < 0.1);
    let auth = scrape(app.auth()).await;
    for (series, expected) in [
        (r#"rolegate_logins_total{method="login",outcome="OK"}"#, 1.0),
        (
            r#"rolegate_logins_total{method="login",outcome="CREDENTIALS_INVALID"}"#,
            1.0,
        ),
        (r#"rolegate_logins_total{method="basic",outcome="OK"}"#, 2.0),
        ("rolegate_basic_cache_hits_total", 1.0),
        ("rolegate_tokens_issued_total", 1.0),
        (r#"rolegate_authorizations_total{outcome="OK"}"#, 1.0),
        (
            r#"rolegate_authorizations_total{outcome="ROLE_INSUFFICIENT"}"#,
            1.0,
        ),
        (r#"rolegate_limit_refusals_total{limit="login"}"#, 0.0),
        (
            r#"rolegate_grpc_requests_total{code="OK",method="Register",service="rolegate.auth.v1.AuthService"}"#,
            1.0,
        ),
    ] {
        assert!(
            (value(&auth, series) - expected).abs() < 0.1,
            "{series} is not {expected}:\n{auth}"
        );
    }
    // Besides the password of the seeded admin, at least four were hashed: at the registration, at
    // two logins, and at the first check of HTTP Basic.
    assert!(
        value(&auth, "rolegate_hashing_wait_seconds_count") > 3.9,
        "{auth}"
    );
    // A lane is released shortly after the response, so it may still count as busy.
    let (busy, lanes) = ("rolegate_hashing_busy_lanes", "rolegate_hashing_lanes");
    assert!(value(&auth, busy) <= value(&auth, lanes), "{auth}");
    assert!(
        value(&auth, "rolegate_hashing_queued_jobs") < 0.1,
        "a job waits: {auth}"
    );
    expect_pool(&auth, "users");
}

/// Asserts that the pool of this store is open and within its limit.
#[track_caller]
fn expect_pool(metrics: &str, store: &str) {
    let pool = if metrics.contains(r#"pool="main""#) {
        "main"
    } else {
        "readers"
    };
    let of = format!(r#"pool="{pool}""#);
    let limit = format!("rolegate_store_connections_limit{{{of},store=\"{store}\"}}");
    let limit = value(metrics, &limit);
    let open = ["idle", "in_use"].map(|state| {
        let series = format!(r#"{of},state="{state}",store="{store}""#);
        value(metrics, &format!("rolegate_store_connections{{{series}}}"))
    });
    assert!(limit >= 4.0 && open[0] + open[1] <= limit, "{metrics}");
    assert!(open[0] + open[1] > 0.9, "nothing is open:\n{metrics}");
}

async fn post_operations_are_counted(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let api = app.bearer.with_token(&admin.token);
    let body = serde_json::json!({ "title": "title", "content": "content" });
    let post = api.post("/posts", &body).await;
    let path = post
        .expect(201)
        .header("location")
        .expect("a location")
        .to_owned();
    app.bearer.get(&path).await.expect(200);
    app.bearer.get("/posts").await.expect(200);

    let front = scrape(app.gateway()).await;
    assert!((value(&front, "rolegate_client_batch_size_posts_count") - 1.0).abs() < 0.1);
    // The gateway authorizes before it reads the body, and posts-service authorizes again before it
    // writes.
    let decisions = "rolegate_client_batch_size_decisions_count";
    let posts = scrape(app.posts()).await;
    let expected = if app.processes().count() == 1 {
        2.0
    } else {
        1.0
    };
    for metrics in [&front, &posts] {
        assert!(
            (value(metrics, decisions) - expected).abs() < 0.1,
            "{metrics}"
        );
    }
    // The two lookups are for one post and for one page.
    let names = value(&posts, "rolegate_client_batch_size_usernames_count");
    assert!((names - 2.0).abs() < 0.1, "{posts}");
    let reads = value(
        &posts,
        r#"rolegate_read_batch_size_keys_count{key="id",store="posts"}"#,
    );
    assert!((reads - 1.0).abs() < 0.1, "{posts}");
    expect_pool(&posts, "posts");
}

async fn no_label_holds_client_input(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let request = |method: &[u8], path: &str| {
        app.bearer
            .with_token(&admin.token)
            .request(Method::from_bytes(method).expect("a method"), path)
    };
    for (method, path) in [
        (&b"GET"[..], "/planted/path"),
        (b"PLANTED", "/profile"),
        (b"PUT", "/users/987654321/role"),
        (b"GET", "/users?username=planted"),
    ] {
        app.bearer.send(request(method, path)).await;
    }
    app.try_log_in("planted", "planted").await.expect(401);
    let channel = e2e::grpc::channel(&app.auth().address("grpc")).await;
    let mut raw = tonic::client::Grpc::new(channel);
    raw.ready().await.expect("connected");
    let path = tonic::codegen::http::uri::PathAndQuery::from_static("/planted.Service/Planted");
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    raw.unary(tonic::Request::new(()), path, codec)
        .await
        .expect_err("it is not served");
    for process in app.processes() {
        let metrics = scrape(process).await;
        for planted in ["planted", "Planted", "PLANTED", "987654321", "ann"] {
            let is_label = |line: &&str| !line.starts_with('#') && line.contains(planted);
            assert_eq!(metrics.lines().find(is_label), None, "{planted}");
        }
    }
    let front = scrape(app.gateway()).await;
    for label in [
        r#"route="unmatched""#,
        r#"method="_OTHER""#,
        r#"route="/users/{user_id}/role""#,
    ] {
        assert!(front.contains(label), "{label} in {front}");
    }
    let auth = scrape(app.auth()).await;
    let other =
        r#"rolegate_grpc_requests_total{code="UNIMPLEMENTED",method="_OTHER",service="_OTHER"}"#;
    assert!(value(&auth, other) > 0.9, "{auth}");
}

/// Returns the names of the metric families.
fn families(metrics: &str) -> BTreeSet<String> {
    let types = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    types
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn dashboard_shows_exactly_the_exported_metrics_and_alerts_are_about_some_of_them() {
    let app = TestSetup::all_in_one(Store::Sqlite).start().await;
    use_everything(&app).await;
    let exported = families(&scrape(app.auth()).await);

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/grafana/rolegate.json");
    let text = fs::read_to_string(&file).expect("the dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten();
    let shown: BTreeSet<String> = targets
        .filter_map(|target| target["expr"].as_str())
        .flat_map(|expression| {
            expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        })
        .filter(|word| word.starts_with("rolegate_") || word.starts_with("process_"))
        .map(|word| {
            let endings = ["_bucket", "_sum", "_count"];
            let family = endings.iter().find_map(|ending| word.strip_suffix(ending));
            family.unwrap_or(word).to_owned()
        })
        .collect();
    expect_all_named(&shown, &exported, &file.display().to_string());

    let rules = include_str!("../../deploy/prometheus/rules.yml");
    let in_alerts: BTreeSet<&str> = rules
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("rolegate_"))
        .collect();
    assert!(in_alerts.len() > 5, "{in_alerts:?}");
    for metric in in_alerts {
        assert!(exported.contains(metric), "an alert is about {metric}");
    }
}

#[tokio::test]
async fn the_version_with_the_commit_is_the_same_in_metrics_documents_and_on_the_command_line() {
    let app = TestSetup::all_in_one(Store::Sqlite).start().await;
    let document = app.bearer.get("/openapi.json").await.expect(200).json();
    let version = document["info"]["version"].as_str().expect("a version");
    let package = concat!(env!("CARGO_PKG_VERSION"), "+");
    assert!(
        version.len() > package.len() && version.starts_with(package),
        "{version}"
    );
    let metrics = scrape(app.auth()).await;
    let info = format!("rolegate_build_info{{program=\"rolegate\",version=\"{version}\"}} 1");
    assert!(metrics.contains(&info), "{info}");
    let folder = tempfile::tempdir().expect("a folder");
    for program in [
        Program::FastHashRolegate,
        Program::AuthService,
        Program::Gateway,
    ] {
        let settings = BTreeMap::new();
        let exit = Process::run(program, &["--version"], &settings, folder.path(), "").await;
        let (_, shown) = exit.stdout.trim_end().split_once(' ').expect("a version");
        assert!(shown.starts_with(package), "{exit:?}");
        assert!(
            shown == version || program != Program::FastHashRolegate,
            "{exit:?}"
        );
    }
}

/// Asserts that `place` names every metric of Rolegate and no unknown one. It may leave out
/// standard process metrics.
fn expect_all_named(named: &BTreeSet<String>, exported: &BTreeSet<String>, place: &str) {
    let ours = |names: &BTreeSet<String>| -> BTreeSet<String> {
        names
            .iter()
            .filter(|name| name.starts_with("rolegate_"))
            .cloned()
            .collect()
    };
    assert_eq!(
        ours(named),
        ours(exported),
        "left: in {place}, right: exported"
    );
    assert!(
        named.is_subset(exported),
        "{place} has {named:?}, exported are {exported:?}"
    );
}

/// Returns the metrics of this program that `docs/metrics.md` names.
fn documented(program: &str) -> BTreeSet<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let text = fs::read_to_string(&file).expect("the document");
    let sections = text.split("\n## ").filter(|section| {
        let title = section.lines().next().unwrap_or_default();
        title == "Every program" || title.split(" and ").any(|name| name == program)
    });
    let rows = sections
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("| `"));
    let names = rows
        .filter_map(|row| row.split(" |").next())
        .flat_map(|cell| cell.split("`, `"));
    names
        .map(|name| name.trim_end_matches('`').to_owned())
        .collect()
}

#[tokio::test]
async fn documentation_lists_the_metrics_of_each_program() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    use_everything(&app).await;
    app.bearer.get("/posts").await.expect(200);
    for (program, process) in [
        ("gateway", app.gateway()),
        ("auth-service", app.auth()),
        ("posts-service", app.posts()),
    ] {
        let exported = families(&scrape(process).await);
        expect_all_named(
            &documented(program),
            &exported,
            &format!("docs/metrics.md for {program}"),
        );
    }
}

#[expect(clippy::print_stderr, reason = "a skipped check must be visible")]
fn not_checked(why: &std::io::Error) {
    eprintln!("NOT CHECKED: there is no promtool here ({why})");
}

#[tokio::test]
async fn promtool_accepts_the_metrics() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    use_everything(&app).await;
    for process in app.processes() {
        let metrics = scrape(process).await;
        let started = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut promtool = match started {
            Ok(promtool) => promtool,
            Err(error) => {
                let is_demanded = std::env::var_os(DEMANDED).is_some();
                assert!(
                    !is_demanded,
                    "{DEMANDED} demands promtool (Debian: prometheus): {error}"
                );
                return not_checked(&error);
            }
        };
        let mut stdin = promtool.stdin.take().expect("piped");
        stdin.write_all(metrics.as_bytes()).expect("promtool reads");
        drop(stdin);
        let output = promtool.wait_with_output().expect("promtool ends");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(
            output.status.success() && said.is_empty(),
            "promtool: {said}\n{metrics}"
        );
    }
}
